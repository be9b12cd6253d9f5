import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { floorToHour, formatTimestamp, tile, type Window } from "@noisefloor/domain/time/window.ts";
import type { FastifyInstance } from "fastify";
import { countPerBucket } from "../activity/queries.ts";
import { countryName } from "../address/response.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { getAddressesOfCountry, getAddressesOfNetwork, registerAddressesByPlace } from "./addresses-by-place.ts";
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
import { registerStatistic, type StatsParameters } from "./statistic.ts";

export type StatsDeps = RouteDeps & SeenDeps;

const HOUR_SECONDS = 3_600;

/** `GET /v3/stats/...`: counts of all addresses, whatever their tags. They take the same scopes as tag activity. */
export function registerStats(app: FastifyInstance, deps: StatsDeps): void {
  registerStatistic(app, getStatsByHour, deps, {
    days: HOURS_DAYS,
    async read({ scopes, window, from }, signal) {
      const [start, end] = [window.start / 1_000, window.end / 1_000];
      const slice = { tag: NIL_TAG_ID, scopes, from: floorToHour(from) / 1_000, end, start, width: HOUR_SECONDS };
      const rows = await deps.read(countPerBucket(scopes.length), slice, signal);
      return new Map(rows.map(({ bucket, active_ips }) => [bucket, active_ips]));
    },
    toBody: (counts, { window, metadata }) => ({
      hours: tileHours(window, (hour) => ({ active_ips: counts.get(hour) ?? 0 })),
      metadata,
    }),
  });
  registerStatistic(app, getStatsByObservation, deps, {
    days: OBSERVATIONS_DAYS,
    async read({ scopes, window, from }, signal) {
      const times = { start: window.start / 1_000, from: floorToHour(from) / 1_000, end: window.end / 1_000 };
      const rows = await deps.read(countObservations, { scopes, ...times }, signal);
      return new Map(rows.map(({ hour, observations }) => [hour, observations]));
    },
    toBody: (counts, { window, metadata }) => ({
      hours: tileHours(window, (hour) => ({ observations: counts.get(hour) ?? 0 })),
      metadata,
    }),
  });
  const besideAll = async <Row>(rows: Promise<Row[]>, parameters: StatsParameters, signal: AbortSignal) =>
    Promise.all([rows, countAllSeen(parameters, deps, signal)]);
  registerStatistic(app, getStatsByNetwork, deps, {
    read: (parameters, signal) => besideAll(deps.read(countByNetwork, parameters, signal), parameters, signal),
    toBody: ([rows, total_ips], { metadata }) => ({
      networks: rows.map(({ place, ...network }) => ({ ...network, asn: `AS${place}` })),
      total_ips,
      metadata,
    }),
  });
  registerStatistic(app, getStatsByCountry, deps, {
    read: (parameters, signal) => besideAll(deps.read(countByCountry, parameters, signal), parameters, signal),
    toBody: ([rows, total_ips], { metadata }) => ({
      countries: rows.map(({ place: code, active_ips }) => ({
        country: countryName(code),
        country_code: code,
        active_ips,
      })),
      total_ips,
      metadata,
    }),
  });
  registerStatistic(app, getStatsByClassification, deps, {
    read: (parameters, signal) => classifySeen(parameters, deps, signal),
    toBody: (counts, { metadata }) => ({
      classifications: WORST_FIRST.map((classification) => ({ classification, active_ips: counts[classification] })),
      total_ips: Object.values(counts).reduce((sum, addresses) => sum + addresses, 0),
      metadata,
    }),
  });
  registerFirstSeen(app, deps);
  registerAddressesByPlace(app, deps);
}

/** The hours of a window with what is known of each, by its number. */
function tileHours<Known extends object>(window: Window, knownOf: (hour: number) => Known) {
  return tile(window, 1).map(({ start, end }, hour) => ({
    start: formatTimestamp(start),
    end: formatTimestamp(end),
    ...knownOf(hour),
  }));
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
