import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import {
  activityWindow,
  floorToHour,
  formatTimestamp,
  retentionStart,
  tile,
  type Window,
} from "@noisefloor/domain/time/window.ts";
import { registerOperation } from "@noisefloor/http/operation.ts";
import { type Parameter, type RawQuery, readParameter } from "@noisefloor/http/parameters.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { countPerBucket } from "../activity/queries.ts";
import { createSharedAnswers } from "../activity/shared-runs.ts";
import { countryName } from "../address/response.ts";
import type { Authenticate } from "../auth.ts";
import { STATS_COST } from "../costs.ts";
import { DAYS, LIMIT } from "../parameters.ts";
import { readScopes } from "../scopes.ts";
import { type ClassificationsDeps, classifySeen } from "./classifications.ts";
import {
  getStatsByClassification,
  getStatsByCountry,
  getStatsByHour,
  getStatsByNetwork,
  HOURS_DAYS,
} from "./operations.ts";
import { countByCountry, countByNetwork, countSeen } from "./queries.ts";

export type StatsDeps = ClassificationsDeps & {
  readonly authenticate: Authenticate;
  readonly retentionDays: () => number;
  readonly now: () => number;
};

/** `tag_activity_hourly` has every address under this tag. */
const ANY_TAG = "00000000-0000-0000-0000-000000000000";
const HOUR_SECONDS = 3_600;

type Asked = {
  readonly scopes: Scope[];
  readonly window: Window;
  /** Milliseconds: older rows have expired. */
  readonly since: number;
  /** Milliseconds: the start of the window, or of what is stored of it. */
  readonly from: number;
};

/** `GET /v3/stats/...`: counts of all addresses, whatever their tags. They take the same scopes as tag activity. */
export function registerStats(app: FastifyInstance, deps: StatsDeps): void {
  registerHours(app, deps);
  registerPlaces(app, deps);
  registerClassifications(app, deps);
}

function registerHours(app: FastifyInstance, deps: StatsDeps): void {
  const answer = createSharedAnswers<ReadonlyMap<number, number>>(app);
  registerOperation(app, getStatsByHour, async (request, _reply, { signal }) => {
    const asked = readAsked(request, deps, HOURS_DAYS);
    const { scopes, window, from } = asked;
    const counts = await answer(toQuestion(request, "hours", asked), signal, async (shared) => {
      const [start, end] = [window.start / 1_000, window.end / 1_000];
      const slice = { tag: ANY_TAG, scopes, from: floorToHour(from) / 1_000, end, start, width: HOUR_SECONDS };
      const rows = await deps.read(countPerBucket, slice, shared);
      return new Map(rows.map(({ bucket, active_ips }) => [bucket, active_ips]));
    });
    const hours = tile(window, 1).map(({ start, end }, hour) => ({
      start: formatTimestamp(start),
      end: formatTimestamp(end),
      active_ips: counts.get(hour) ?? 0,
    }));
    return { hours, metadata: toMetadata(asked) };
  });
}

function registerPlaces(app: FastifyInstance, deps: StatsDeps): void {
  const ofNetworks = createSharedAnswers<{ networks: NetworkRow[]; total_ips: number }>(app);
  registerOperation(app, getStatsByNetwork, async (request, _reply, { signal }) => {
    const asked = readAsked(request, deps);
    const limit = readParameter(request.query, LIMIT);
    const places = await ofNetworks(toQuestion(request, `networks ${limit}`, asked), signal, async (shared) => {
      const { scopes, from } = asked;
      const [networks, totals] = await Promise.all([
        deps.read(countByNetwork, { scopes, from, limit }, shared),
        deps.read(countSeen, { scopes, from }, shared),
      ]);
      return {
        networks: networks.map((network) => ({ ...network, asn: `AS${network.asn}` })),
        total_ips: onlyRow(countSeen, totals).active_ips,
      };
    });
    return { ...places, metadata: toMetadata(asked) };
  });
  const ofCountries = createSharedAnswers<{ countries: CountryRow[]; total_ips: number }>(app);
  registerOperation(app, getStatsByCountry, async (request, _reply, { signal }) => {
    const asked = readAsked(request, deps);
    const limit = readParameter(request.query, LIMIT);
    const places = await ofCountries(toQuestion(request, `countries ${limit}`, asked), signal, async (shared) => {
      const { scopes, from } = asked;
      const [countries, totals] = await Promise.all([
        deps.read(countByCountry, { scopes, from, limit }, shared),
        deps.read(countSeen, { scopes, from }, shared),
      ]);
      return {
        countries: countries.map(({ country: code, active_ips }) => ({
          country: countryName(code),
          country_code: code,
          active_ips,
        })),
        total_ips: onlyRow(countSeen, totals).active_ips,
      };
    });
    return { ...places, metadata: toMetadata(asked) };
  });
}

type NetworkRow = { readonly asn: string; readonly organization: string; readonly active_ips: number };
type CountryRow = { readonly country: string; readonly country_code: string; readonly active_ips: number };

function registerClassifications(app: FastifyInstance, deps: StatsDeps): void {
  const answer = createSharedAnswers<Awaited<ReturnType<typeof classifySeen>>>(app);
  registerOperation(app, getStatsByClassification, async (request, _reply, { signal }) => {
    const asked = readAsked(request, deps);
    const { scopes, from, since } = asked;
    const counts = await answer(toQuestion(request, "classifications", asked), signal, (shared) =>
      classifySeen({ scopes, from, since }, deps, shared),
    );
    return {
      classifications: [...INTENTIONS].reverse().map((classification) => ({
        classification,
        active_ips: counts[classification],
      })),
      total_ips: Object.values(counts).reduce((sum, addresses) => sum + addresses, 0),
      metadata: toMetadata(asked),
    };
  });
}

type StatsRequest = FastifyRequest<{ Querystring: RawQuery }>;

function readAsked(
  request: StatsRequest,
  { authenticate, now, retentionDays }: StatsDeps,
  allowedDays: Parameter<number> = DAYS,
): Asked {
  const caller = authenticate(request);
  const days = Math.min(readParameter(request.query, allowedDays), caller.limits.reach_days);
  const scopes = readScopes("tag-activity", request.query, caller);
  const window = activityWindow(now(), days);
  const since = retentionStart(now(), retentionDays());
  return { scopes, window, since, from: Math.max(window.start, since) };
}

function toQuestion(request: StatsRequest, what: string, { scopes, window }: Asked) {
  return { request, key: JSON.stringify({ what, scopes, window }), cost: STATS_COST };
}

function toMetadata({ window }: Asked) {
  return { start_date: formatTimestamp(window.start), end_date: formatTimestamp(window.end) };
}
