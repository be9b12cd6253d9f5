import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";
import { activityWindow, DAY_MS, MAX_DAYS, retentionStart } from "@noisefloor/domain/time/window.ts";
import { type Parameter, type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { LookupDeps } from "../address/store-lookup.ts";
import type { Authenticate, AuthorizedCaller } from "../auth.ts";
import { ALL, type SetQuery, visitTree } from "../conditions/address-set.ts";
import { type CompiledSearch, compileSearch } from "../conditions/compile-bitmaps.ts";
import type { Names } from "../conditions/names.ts";
import { resolveQuery } from "../conditions/resolve-query.ts";
import { readScopes, WINDOW_NAMES } from "../parameters.ts";
import { type Asking, admitQuery, yieldIfLong } from "./admit-query.ts";
import { type MeantQuery, readMeantQuery } from "./meant-query.ts";
import { countNarrower } from "./stats-queries.ts";

export const QUERY: Parameter<string> = {
  name: "query",
  description: `What to search for, in the search language: at most ${MAX_QUERY_LENGTH} characters.`,
  takes: "a query",
  schema: z.string().min(1),
  describedBy: "input",
  example: "tags:mirai port:23",
};

export const SEARCH_DAYS: Parameter<number | undefined> = {
  name: "days",
  never: WINDOW_NAMES,
  description:
    "Only observations of the last days count, in whole hours up to the current one. Left out, all that is stored of an address counts.",
  takes: `a whole number from 1 to ${MAX_DAYS}`,
  schema: z
    .string()
    .regex(/^[1-9]\d?$/)
    .transform(Number)
    .pipe(z.int().min(1).max(MAX_DAYS))
    .optional(),
  describedBy: "output",
  example: "7",
};

export type AskedDeps = LookupDeps & {
  readonly catalogue: { all(): Names["tags"] };
  readonly authenticate: Authenticate;
};

/** A query as a caller asks for it. */
export type AskedQuery = {
  readonly caller: AuthorizedCaller;
  /** As sent. */
  readonly query: string;
  /** As it runs. */
  readonly meant: MeantQuery;
  readonly scopes: Scope[];
  readonly names: Names;
  readonly resolved: SetQuery;
  /** Whether the caller may know only the sensors of its workspace. */
  readonly isOwnSensorsOnly: boolean;
  /** When it was asked, in milliseconds since 1970 UTC. */
  readonly now: number;
};

/** A search as a caller asks for it. Times in milliseconds since 1970 UTC. */
export type AskedSearch = Omit<AskedQuery, "resolved" | "isOwnSensorsOnly" | "now"> & {
  /** What runs instead where the caller's plan takes something away. */
  readonly cutQuery: string;
  readonly days: number | undefined;
  /** Observations since then count. */
  readonly from: number;
  /** Whether the plan allows fewer days than were asked for. */
  readonly isCut: boolean;
  readonly compiled: CompiledSearch;
  /** The same search, which also counts its addresses that match each of some narrower ones. */
  readonly compileWith: (narrower: readonly SetQuery[]) => CompiledSearch;
};

export type SearchRequest = FastifyRequest<{ Querystring: RawQuery }>;

/** @throws HttpError 400 with every error of the query and its place. */
export async function readAskedQuery(
  request: SearchRequest,
  deps: AskedDeps,
  signal: AbortSignal,
): Promise<AskedQuery> {
  const caller = deps.authenticate(request);
  const query = readParameter(request.query, QUERY);
  const asked = { caller, query, scopes: readScopes("ip", request.query, caller) };
  return admitQuery(request, query, signal, (asking) => resolveAsked(asked, deps, asking));
}

/** @throws HttpError 400 with every error of the query and its place. */
export async function readSearch(request: SearchRequest, deps: AskedDeps, signal: AbortSignal): Promise<AskedSearch> {
  const days = readParameter(request.query, SEARCH_DAYS);
  return compileIn(await readAskedQuery(request, deps, signal), days, deps);
}

type SearchDeps = Omit<AskedDeps, "authenticate">;

/** The same for a search that is no request's parameter. */
export async function compileAsked(
  { days, ...asked }: Pick<AskedSearch, "caller" | "query" | "days" | "scopes">,
  deps: SearchDeps,
  asking: Asking,
): Promise<AskedSearch> {
  return compileIn(await resolveAsked(asked, deps, asking), days, deps);
}

async function resolveAsked(
  asked: Pick<AskedQuery, "caller" | "query" | "scopes">,
  deps: SearchDeps,
  asking: Asking,
): Promise<AskedQuery> {
  const read = await readMeant(asked, deps, asking);
  if ("errors" in read) {
    const [first] = read.errors;
    throw new HttpError(400, `Character ${first?.position ?? 0}: ${first?.message ?? "not a query"}`, {
      errors: read.errors,
    });
  }
  const resolved = await resolveQuery(read.meant.query, read.names);
  const tags = countTags(resolved);
  if (tags > MAX_TAGS) throw new HttpError(400, `${TOO_MANY_TAGS}, this one ${tags}`);
  await yieldIfLong(asked.query);
  return { ...asked, ...read, resolved };
}

/** Reads a query as it runs, with the names that it was read by. */
export async function readMeant(
  { caller, query, scopes }: Pick<AskedQuery, "caller" | "query" | "scopes">,
  deps: SearchDeps,
  { signal, run }: Asking,
) {
  const now = deps.now();
  await refreshOutdated(deps);
  const names = { tags: deps.catalogue.all(), networks: deps.networks.current() };
  const isOwnSensorsOnly = !caller.entitlements.has("sensors");
  const countEach = async (sets: readonly SetQuery[]) => {
    if (scopes.length === 0) return [];
    const compiled = compileSearch(ALL, { scopes: scopes.length, isOwnSensorsOnly, reach: undefined }, sets);
    const counting = countNarrower(compiled);
    const params = { ...compiled.params, scopes, from: retentionStart(now, deps.retentionDays()) };
    return onlyRow(counting, await run(() => deps.read(counting, params, signal))).narrower;
  };
  const meant = await readMeantQuery(query, { now, names, countEach });
  return "errors" in meant ? meant : { meant, names, now, isOwnSensorsOnly };
}

function compileIn(
  { resolved, isOwnSensorsOnly, now, ...asked }: AskedQuery,
  days: number | undefined,
  deps: SearchDeps,
): AskedSearch {
  const { caller, meant, scopes } = asked;
  const { reach_days: reachDays } = caller.limits;
  const since = retentionStart(now, deps.retentionDays());
  const allowed = days === undefined ? undefined : Math.min(days, reachDays);
  const from = allowed === undefined ? since : Math.max(since, activityWindow(now, allowed).start);
  const reach = now - reachDays * DAY_MS;
  const options = {
    scopes: Math.max(1, scopes.length),
    isOwnSensorsOnly,
    reach: days === undefined && reach > since ? reach : undefined,
  };
  const compiled = compileSearch(resolved, options);
  const compileWith = (narrower: readonly SetQuery[]) => compileSearch(resolved, options, narrower);
  const cutQuery = `(${meant.text}) last_seen:${reachDays}d`;
  const isCut = days !== undefined && days > reachDays;
  return { ...asked, cutQuery, days, from, isCut, compiled, compileWith };
}

/** What ran, where it is not what was sent. */
export const adjustedQueryOf = ({ query, meant }: Pick<AskedQuery, "query" | "meant">) =>
  meant.text === query ? "" : meant.text;

export const ADJUSTED_QUERY_HEADER = {
  "Adjusted-Query": "What ran, percent-encoded, where it is not what was sent.",
} as const;
/** Clients take so many bytes of header fields. */
const MAX_HEADER_BYTES = 8_192;

/** Says what ran for a response that has no place for it. */
export function setAdjustedQuery(reply: FastifyReply, asked: Pick<AskedQuery, "query" | "meant">): void {
  const adjusted = encodeURIComponent(adjustedQueryOf(asked).toWellFormed());
  if (adjusted !== "" && adjusted.length <= MAX_HEADER_BYTES) reply.header("adjusted-query", adjusted);
}

/** The store gets the id of each: several hundred conditions can mean nearly all tags each. */
const MAX_TAGS = 50_000;
const TOO_MANY_TAGS = `The conditions of a query mean at most ${MAX_TAGS} tags together`;

/** Conditions that mean the same tags share them. */
function countTags(query: SetQuery): number {
  let tags = 0;
  visitTree<void>({
    constant: () => {},
    set(set) {
      if (set.type === "facet" && set.field === "tag" && set.match.type === "in") tags += set.match.texts.length;
    },
    not: () => {},
    and: () => {},
    or: () => {},
  })(query);
  return tags;
}

const MAX_COST = 9;
const SETS_PER_COST = 4;
const OBSERVATIONS_COST = 2;

/** Admission costs: sets that are read from the observations, or value by value, cost more than ranges of a key. */
export function searchCost({ compiled: { sets } }: AskedSearch): number {
  const isHeavy = (set: (typeof sets)[number]) =>
    set.type === "facet"
      ? set.match.type === "words" || set.match.type === "matches"
      : set.type === "observed-before" || set.type === "counted";
  const heavy = sets.filter(isHeavy).length;
  return Math.min(MAX_COST, 2 + Math.floor(sets.length / SETS_PER_COST) + heavy * OBSERVATIONS_COST);
}
