import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { floorToHour, formatTimestamp, tile, type Window } from "@noisefloor/domain/time/window.ts";
import { registerOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import type { z } from "zod";
import { countPerBucket } from "../activity/queries.ts";
import { countryName } from "../address/response.ts";
import { createSharedAnswers } from "../shared-answers.ts";
import { getAddressesOfCountry, getAddressesOfNetwork, registerAddressesByPlace } from "./addresses-by-place.ts";
import { type Asked, type AskedDeps, readAsked, readLimited, toMetadata, toQuestion } from "./asked.ts";
import { getFirstSeen, registerFirstSeen } from "./first-seen.ts";
import {
  getStatsByClassification,
  getStatsByCountry,
  getStatsByHour,
  getStatsByNetwork,
  getStatsByObservation,
  HOURS_DAYS,
  OBSERVATIONS_DAYS,
} from "./operations.ts";
import { countByCountry, countByNetwork, countObservations } from "./queries.ts";
import { classifySeen, countAllSeen, type SeenDeps } from "./seen-addresses.ts";

export type StatsDeps = AskedDeps & SeenDeps;

const HOUR_SECONDS = 3_600;

/** `GET /v3/stats/...`: counts of all addresses, whatever their tags. They take the same scopes as tag activity. */
export function registerStats(app: FastifyInstance, deps: StatsDeps): void {
  registerHours(app, deps);
  registerObservations(app, deps);
  registerPlaces(app, deps);
  registerClassifications(app, deps);
  registerFirstSeen(app, deps);
  registerAddressesByPlace(app, deps);
}

function registerHours(app: FastifyInstance, deps: StatsDeps): void {
  const answer = createSharedAnswers<ReadonlyMap<number, number>>(app);
  registerOperation(app, getStatsByHour, async (request, _reply, { signal }) => {
    const asked = readAsked(request, deps, HOURS_DAYS);
    const { scopes, window, from } = asked;
    const counts = await answer(toQuestion(request, "hours", asked), signal, async (shared) => {
      const [start, end] = [window.start / 1_000, window.end / 1_000];
      const slice = { tag: NIL_TAG_ID, scopes, from: floorToHour(from) / 1_000, end, start, width: HOUR_SECONDS };
      const rows = await deps.read(countPerBucket(scopes.length), slice, shared);
      return new Map(rows.map(({ bucket, active_ips }) => [bucket, active_ips]));
    });
    const hours = tileHours(window, (hour) => ({ active_ips: counts.get(hour) ?? 0 }));
    return { hours, metadata: toMetadata(asked) };
  });
}

function registerObservations(app: FastifyInstance, deps: StatsDeps): void {
  const answer = createSharedAnswers<ReadonlyMap<number, number>>(app);
  registerOperation(app, getStatsByObservation, async (request, _reply, { signal }) => {
    const asked = readAsked(request, deps, OBSERVATIONS_DAYS);
    const { scopes, window, from } = asked;
    const counts = await answer(toQuestion(request, "observations", asked), signal, async (shared) => {
      const times = { start: window.start / 1_000, from: floorToHour(from) / 1_000, end: window.end / 1_000 };
      const rows = await deps.read(countObservations, { scopes, ...times }, shared);
      return new Map(rows.map(({ hour, observations }) => [hour, observations]));
    });
    const hours = tileHours(window, (hour) => ({ observations: counts.get(hour) ?? 0 }));
    return { hours, metadata: toMetadata(asked) };
  });
}

/** The hours of a window with what is known of each, by its number. */
function tileHours<Known extends object>(window: Window, knownOf: (hour: number) => Known) {
  return tile(window, 1).map(({ start, end }, hour) => ({
    start: formatTimestamp(start),
    end: formatTimestamp(end),
    ...knownOf(hour),
  }));
}

function registerPlaces(app: FastifyInstance, deps: StatsDeps): void {
  const ofNetworks = createSharedAnswers<Places<typeof countByNetwork>>(app);
  registerOperation(app, getStatsByNetwork, async (request, _reply, { signal }) => {
    const asked = readLimited(request, deps);
    const { rows, total_ips } = await ofNetworks(toQuestion(request, "networks", asked), signal, (shared) =>
      readPlaces(deps.read(countByNetwork, asked, shared), asked, deps, shared),
    );
    const networks = rows.map((network) => ({ ...network, asn: `AS${network.asn}` }));
    return { networks, total_ips, metadata: toMetadata(asked) };
  });
  const ofCountries = createSharedAnswers<Places<typeof countByCountry>>(app);
  registerOperation(app, getStatsByCountry, async (request, _reply, { signal }) => {
    const asked = readLimited(request, deps);
    const { rows, total_ips } = await ofCountries(toQuestion(request, "countries", asked), signal, (shared) =>
      readPlaces(deps.read(countByCountry, asked, shared), asked, deps, shared),
    );
    const countries = rows.map(({ country: code, active_ips }) => ({
      country: countryName(code),
      country_code: code,
      active_ips,
    }));
    return { countries, total_ips, metadata: toMetadata(asked) };
  });
}

type Places<Definition extends { readonly row: z.ZodType }> = {
  readonly rows: readonly z.output<Definition["row"]>[];
  readonly total_ips: number;
};

/** Counts by place beside the count of all. */
async function readPlaces<Row>(
  places: Promise<Row[]>,
  asked: Asked,
  deps: StatsDeps,
  signal: AbortSignal,
): Promise<{ rows: Row[]; total_ips: number }> {
  const [rows, total_ips] = await Promise.all([places, countAllSeen(asked, deps, signal)]);
  return { rows, total_ips };
}

function registerClassifications(app: FastifyInstance, deps: StatsDeps): void {
  const answer = createSharedAnswers<Awaited<ReturnType<typeof classifySeen>>>(app);
  registerOperation(app, getStatsByClassification, async (request, _reply, { signal }) => {
    const asked = readAsked(request, deps);
    const { scopes, from, since } = asked;
    const counts = await answer(toQuestion(request, "classifications", asked), signal, (shared) =>
      classifySeen({ scopes, from, since }, deps, shared),
    );
    return {
      classifications: WORST_FIRST.map((classification) => ({
        classification,
        active_ips: counts[classification],
      })),
      total_ips: Object.values(counts).reduce((sum, addresses) => sum + addresses, 0),
      metadata: toMetadata(asked),
    };
  });
}

export const STATS_OPERATIONS = [
  getStatsByHour,
  getStatsByObservation,
  getStatsByNetwork,
  getAddressesOfNetwork,
  getStatsByCountry,
  getAddressesOfCountry,
  getStatsByClassification,
  getFirstSeen,
] as const;
