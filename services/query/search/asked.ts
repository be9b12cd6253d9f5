import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { MAX_QUERY_LENGTH, readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { activityWindow, DAY_MS, MAX_DAYS, retentionStart } from "@noisefloor/domain/time/window.ts";
import { type Parameter, type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { LookupDeps } from "../address/store-lookup.ts";
import type { Authenticate, AuthorizedCaller } from "../auth.ts";
import { readScopes } from "../parameters.ts";
import type { SetQuery } from "../search-sets/address-set.ts";
import { type CompiledSearch, compileSearch } from "../search-sets/compile.ts";
import { type Names, resolveQuery } from "../search-sets/resolve-query.ts";

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
  readonly adjustedQuery: string;
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
export async function readAskedQuery(request: SearchRequest, deps: AskedDeps): Promise<AskedQuery> {
  const caller = deps.authenticate(request);
  const query = readParameter(request.query, QUERY);
  return resolveAsked({ caller, query, scopes: readScopes("ip", request.query, caller) }, deps);
}

/** @throws HttpError 400 with every error of the query and its place. */
export async function readSearch(request: SearchRequest, deps: AskedDeps): Promise<AskedSearch> {
  const days = readParameter(request.query, SEARCH_DAYS);
  return compileIn(await readAskedQuery(request, deps), days, deps);
}

type SearchDeps = Omit<AskedDeps, "authenticate">;

/** The same for a search that no request asks for. */
export async function compileAsked(
  { days, ...asked }: Pick<AskedSearch, "caller" | "query" | "days" | "scopes">,
  deps: SearchDeps,
): Promise<AskedSearch> {
  return compileIn(await resolveAsked(asked, deps), days, deps);
}

async function resolveAsked(
  { caller, query, scopes }: Pick<AskedQuery, "caller" | "query" | "scopes">,
  deps: SearchDeps,
): Promise<AskedQuery> {
  const now = deps.now();
  const read = readQuery(query, now);
  if (!("query" in read)) {
    const [first] = read.errors;
    throw new HttpError(400, `Character ${first?.position ?? 0}: ${first?.message ?? "not a query"}`, {
      errors: read.errors,
    });
  }
  await refreshOutdated(deps);
  const names = { tags: deps.catalogue.all(), networks: deps.networks.current() };
  const resolved = resolveQuery(read.query, names);
  return { caller, query, scopes, names, resolved, isOwnSensorsOnly: !caller.entitlements.has("sensors"), now };
}

function compileIn(
  { resolved, isOwnSensorsOnly, now, ...asked }: AskedQuery,
  days: number | undefined,
  deps: SearchDeps,
): AskedSearch {
  const { caller, query, scopes } = asked;
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
  const adjustedQuery = `(${query}) last_seen:${reachDays}d`;
  const isCut = days !== undefined && days > reachDays;
  return { ...asked, adjustedQuery, days, from, isCut, compiled, compileWith };
}

const MAX_COST = 9;
const SETS_PER_COST = 4;
const OBSERVATIONS_COST = 2;

/** Admission costs: sets that are read from the observations cost more than those of the rollups. */
export function searchCost({ compiled: { sets } }: AskedSearch): number {
  const isLarge = ({ type }: (typeof sets)[number]) =>
    type === "observed" || type === "observed-before" || type === "counted";
  const isWide = (set: (typeof sets)[number]) => set.type === "value" && set.match.type !== "in";
  const heavy = sets.filter((set) => isLarge(set) || isWide(set)).length;
  return Math.min(MAX_COST, 2 + Math.floor(sets.length / SETS_PER_COST) + heavy * OBSERVATIONS_COST);
}
