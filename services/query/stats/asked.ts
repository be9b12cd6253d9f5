import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { activityWindow, formatTimestamp, retentionStart, type Window } from "@noisefloor/domain/time/window.ts";
import { type Parameter, type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyRequest } from "fastify";
import type { Authenticate } from "../auth.ts";
import { STATS_COST } from "../costs.ts";
import { DAYS, LIMIT, readScopes } from "../parameters.ts";

export type AskedDeps = {
  readonly read: Read;
  readonly authenticate: Authenticate;
  readonly retentionDays: () => number;
  readonly now: () => number;
};

/** What a statistic is of. */
export type Asked = {
  readonly scopes: Scope[];
  readonly window: Window;
  /** Milliseconds: older rows have expired. */
  readonly since: number;
  /** Milliseconds: the start of the window, or of its part that is still stored. */
  readonly from: number;
};

type StatsRequest = FastifyRequest<{ Querystring: RawQuery }>;

export function readAsked(
  request: StatsRequest,
  { authenticate, now, retentionDays }: AskedDeps,
  allowedDays: Parameter<number> = DAYS,
): Asked {
  const caller = authenticate(request);
  const days = Math.min(readParameter(request.query, allowedDays), caller.limits.reach_days);
  const scopes = readScopes("tag-activity", request.query, caller);
  const window = activityWindow(now(), days);
  const since = retentionStart(now(), retentionDays());
  return { scopes, window, since, from: Math.max(window.start, since) };
}

/** The same for a list. */
export function readLimited(request: StatsRequest, deps: AskedDeps, allowedDays?: Parameter<number>) {
  return { ...readAsked(request, deps, allowedDays), limit: readParameter(request.query, LIMIT) };
}

/** Callers with the same question within one hour share its answer while it is read. */
export function toQuestion(
  request: FastifyRequest,
  what: string,
  { scopes, window, limit }: Asked & { readonly limit?: number },
  cost = STATS_COST,
) {
  return { request, key: JSON.stringify({ what, scopes, window, limit }), cost };
}

export function toMetadata({ window }: Asked) {
  return { start_date: formatTimestamp(window.start), end_date: formatTimestamp(window.end) };
}
