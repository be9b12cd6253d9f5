import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { activityWindow, formatTimestamp, retentionStart, type Window } from "@noisefloor/domain/time/window.ts";
import type { Operation, OperationHandler, OperationRequest } from "@noisefloor/http/operations/operation.ts";
import { type Parameter, readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import type { z } from "zod";
import type { RouteDeps } from "../address/route-deps.ts";
import { STATS_COST } from "../costs.ts";
import { DAYS, LIMIT, readScopes } from "../parameters.ts";
import { createSharedAnswers } from "../shared-answers.ts";

/** What a statistic is of. Times in milliseconds since 1970 UTC. */
export type StatsParameters = {
  readonly scopes: Scope[];
  readonly window: Window;
  /** Older rows have expired. */
  readonly since: number;
  /** The start of the window, or of its part that is still stored. */
  readonly from: number;
  /** How many a list has at most. */
  readonly limit: number;
  /** The network or the country; empty for statistics of all. */
  readonly place: string;
};

type Body<Path extends string, Schema extends z.ZodType> = Awaited<ReturnType<OperationHandler<Path, NoInfer<Schema>>>>;

type Statistic<Path extends string, Schema extends z.ZodType, Result> = {
  readonly days?: Parameter<number>;
  readonly cost?: number;
  readonly placeOf?: (request: OperationRequest<Path>) => string;
  readonly read: (parameters: StatsParameters, signal: AbortSignal) => Promise<Result>;
  readonly toBody: (
    result: Result,
    of: Pick<StatsParameters, "window" | "place"> & { readonly metadata: ReturnType<typeof toMetadata> },
  ) => Body<Path, Schema>;
};

/** Registers a statistic. Callers with the same parameters within one hour share what is read, while it is read. */
export function registerStatistic<Path extends string, Schema extends z.ZodType, Result>(
  app: FastifyInstance,
  operation: Operation<Path, Schema>,
  { authenticate, now, retentionDays }: Pick<RouteDeps, "authenticate" | "now" | "retentionDays">,
  { days: allowedDays = DAYS, cost = STATS_COST, placeOf = () => "", read, toBody }: Statistic<Path, Schema, Result>,
): void {
  const answer = createSharedAnswers<Result>(app);
  const isLimited = operation.queryParameters.includes(LIMIT);
  app.implement(operation, async (request, _reply, { signal }) => {
    const place = placeOf(request);
    const caller = authenticate(request);
    const days = Math.min(readParameter(request.query, allowedDays), caller.limits.reach_days);
    const scopes = readScopes("tag-activity", request.query, caller);
    const limit = isLimited ? readParameter(request.query, LIMIT) : 0;
    const window = activityWindow(now(), days);
    const since = retentionStart(now(), retentionDays());
    const parameters = { scopes, window, since, from: Math.max(window.start, since), limit, place };
    const key = JSON.stringify({ scopes, window, limit, place });
    const result = await answer({ request, key, cost }, signal, (shared) => read(parameters, shared));
    return toBody(result, { window, place, metadata: toMetadata(window) });
  });
}

const toMetadata = ({ start, end }: Window) => ({
  start_date: formatTimestamp(start),
  end_date: formatTimestamp(end),
});
