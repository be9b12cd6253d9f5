import {
  activityWindow,
  DAY_MS,
  floorToHour,
  HOUR_MS,
  MAX_DAYS,
  tile,
  type Window,
} from "@noisefloor/domain/time/window.ts";
import { choice, type Parameter, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { z } from "zod";
import type { RouteDeps } from "../address/route-deps.ts";
import { type BucketConditions, compileForBuckets } from "../conditions/compile-buckets.ts";
import { END_NAMES, START_NAMES } from "../parameters.ts";
import { readSearch, type Search, type SearchRequest } from "../search/search.ts";

const timeSchema = z.iso.date().or(z.iso.datetime({ offset: true }));
/** What the interface's description can say of a time; whether it exists is checked besides. */
const TIME_PATTERN = /^(?:\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?)?$/;

/** A day is its first moment. In milliseconds since 1970 UTC; undefined when it was left out or is empty. */
const timeParameter = (
  about: Pick<Parameter<unknown>, "name" | "description" | "alsoCalled" | "never">,
): Parameter<number | undefined> => ({
  ...about,
  takes: "a time such as 2026-11-20T14:00:00Z, or a day",
  schema: z
    .string()
    .regex(TIME_PATTERN)
    .refine((text) => text === "" || timeSchema.safeParse(text).success)
    .optional()
    .transform((text) => (text === undefined || text === "" ? undefined : Date.parse(text))),
  describedBy: "input",
  example: "2026-11-20T14:00:00Z",
});
export const START = timeParameter({
  name: "start",
  alsoCalled: START_NAMES,
  never: ["days"],
  description:
    "When the first bucket begins, rounded down to the hour; 24 hours back if left out. Not before the caller's plan and the retention reach.",
});
export const END = timeParameter({
  name: "end",
  alsoCalled: END_NAMES,
  description: "When the last bucket ends, rounded up to the hour; now if left out.",
});
/** Clients send it. */
export const JSON_ALONE = choice({ name: "format", description: "JSON alone.", values: ["json"], fallback: "json" });

/** Times in milliseconds since 1970 UTC. */
export type Series = {
  readonly search: Search;
  readonly buckets: readonly Window[];
  /** Nothing is stored that could match: the time is older than the plan or the retention. */
  readonly isEmpty: boolean;
  /** How many days of observations are read. */
  readonly days: number;
  readonly conditions: BucketConditions;
  readonly params: { readonly [Name in "from" | "end" | "start" | "width"]: number } & Pick<Search, "scopes">;
};

/** @throws HttpError 400 for a wrong query, and for a time that ends before it starts. */
export async function readSeries(
  request: SearchRequest,
  widthHours: number,
  deps: RouteDeps,
  signal: AbortSignal,
): Promise<Series> {
  readParameter(request.query, JSON_ALONE);
  const search = await readSearch(request, undefined, deps, signal);
  const { now, scopes, resolved, isOwnSensorsOnly, caller } = search;
  const reached = activityWindow(now, Math.min(MAX_DAYS, caller.limits.reach_days));
  const end = Math.min(ceilToHour(readParameter(request.query, END) ?? now), reached.end);
  const start = floorToHour(readParameter(request.query, START) ?? now - DAY_MS);
  if (start >= end) throw new HttpError(400, "Invalid parameter: start must be before end, and not in the future");
  const window = { start: Math.max(start, reached.start), end };
  const from = Math.max(window.start, floorToHour(search.from));
  const conditions = compileForBuckets(resolved, { scopes, from, isOwnSensorsOnly });
  return {
    search,
    buckets: tile(window, widthHours),
    isEmpty: from >= end,
    days: Math.max(0, end - from) / DAY_MS,
    conditions,
    params: { ...conditions.params, end, start: window.start / 1_000, width: (widthHours * HOUR_MS) / 1_000 },
  };
}

const ceilToHour = (time: number) => Math.ceil(time / HOUR_MS) * HOUR_MS;
