import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { activityWindow, DAY_MS, retentionStart } from "@noisefloor/domain/time/window.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyRequest } from "fastify";
import type { BenignNetworks } from "../address/benign-networks.ts";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { LookupDeps } from "../address/store-lookup.ts";
import type { Authenticate, AuthorizedCaller } from "../auth.ts";
import { ALL, isOfObservations, type SetQuery, visitTree } from "../conditions/address-set.ts";
import { type CompiledSearch, compileSearch } from "../conditions/compile-bitmaps.ts";
import type { Names } from "../conditions/names.ts";
import { resolveQuery } from "../conditions/resolve-query.ts";
import { readScopes } from "../parameters.ts";
import { type Asking, admitQuery, yieldIfLong } from "./admit-query.ts";
import { type MeantQuery, readMeantQuery } from "./meant-query.ts";
import { QUERY } from "./parameters.ts";
import { searchCounts } from "./queries.ts";

/** What a caller searches for. */
export type SearchParameters = {
  readonly caller: AuthorizedCaller;
  /** As sent. */
  readonly query: string;
  /** The last days, whose observations count; undefined: all that is stored. */
  readonly days: number | undefined;
  readonly scopes: Scope[];
};

/** A search that can run. Times in milliseconds since 1970 UTC. */
export type Search = SearchParameters & {
  /** The query as it runs. */
  readonly meant: MeantQuery;
  readonly names: Names & { readonly networks: BenignNetworks };
  readonly resolved: SetQuery;
  /** Whether the caller may know only the sensors of its workspace. */
  readonly isOwnSensorsOnly: boolean;
  /** When it was read. */
  readonly now: number;
  /** Observations since then count. */
  readonly from: number;
  /** The plan reaches only addresses that were seen since then. */
  readonly reach: number | undefined;
  /** Whether the plan allows fewer days than the request has. */
  readonly isCut: boolean;
};

export type SearchDeps = LookupDeps & { readonly catalogue: { all(): Names["tags"] } };
export type SearchRequest = FastifyRequest<{ Querystring: RawQuery }>;

/**
 * The search that a request asks for.
 * @throws HttpError 400 with every error of the query and its place.
 */
export async function readSearch(
  request: SearchRequest,
  days: number | undefined,
  deps: SearchDeps & { readonly authenticate: Authenticate },
  signal: AbortSignal,
): Promise<Search> {
  const caller = deps.authenticate(request);
  const query = readParameter(request.query, QUERY);
  const parameters = { caller, query, days, scopes: readScopes("ip", request.query, caller) };
  return admitQuery(request, query, signal, (asking) => prepareSearch(parameters, deps, asking));
}

/** @throws HttpError 400 with every error of the query and its place. */
export async function prepareSearch(parameters: SearchParameters, deps: SearchDeps, asking: Asking): Promise<Search> {
  const { caller, query, days } = parameters;
  const read = await readMeant(parameters, deps, asking);
  if ("errors" in read) {
    const [first] = read.errors;
    throw new HttpError(400, `Character ${first?.position ?? 0}: ${first?.message ?? "not a query"}`, {
      errors: read.errors,
    });
  }
  const resolved = await resolveQuery(read.meant.query, read.names);
  const tags = countTags(resolved);
  if (tags > MAX_TAGS) throw new HttpError(400, `${TOO_MANY_TAGS}, this one ${tags}`);
  await yieldIfLong(query);
  const { now } = read;
  const { reach_days: reachDays } = caller.limits;
  const stored = retentionStart(now, deps.retentionDays());
  const reach = now - reachDays * DAY_MS;
  return {
    ...parameters,
    ...read,
    resolved,
    from: days === undefined ? stored : Math.max(stored, activityWindow(now, Math.min(days, reachDays)).start),
    reach: days === undefined && reach > stored ? reach : undefined,
    isCut: days !== undefined && days > reachDays,
  };
}

/**
 * @param narrower searches of which each is counted within this one.
 * @param beside a search that is counted, too.
 */
export const compile = (
  { resolved, ...search }: Search,
  narrower: readonly SetQuery[] = [],
  beside?: SetQuery,
): CompiledSearch => compileSearch(resolved, { ...search, beside }, narrower);

/** Reads a query as it runs, with the names that it was read by. */
export async function readMeant(
  { caller, query, scopes }: Omit<SearchParameters, "days">,
  deps: SearchDeps,
  { signal, run }: Asking,
) {
  const now = deps.now();
  await refreshOutdated(deps);
  const names = { tags: deps.catalogue.all(), networks: deps.networks.current() };
  const isOwnSensorsOnly = !caller.entitlements.has("sensors");
  const from = retentionStart(now, deps.retentionDays());
  const countEach = async (sets: readonly SetQuery[]) => {
    const { params, ...compiled } = compileSearch(ALL, { scopes, from, isOwnSensorsOnly }, sets);
    const counting = searchCounts(compiled);
    return onlyRow(counting, await run(() => deps.read(counting, params, signal))).narrower;
  };
  const meant = await readMeantQuery(query, { now, names, countEach });
  return "errors" in meant ? meant : { meant, names, now, isOwnSensorsOnly };
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
const HEAVY_COST = 2;

/** Admission costs: sets that are read from the observations, or value by value, cost more than ranges of a key. */
export function searchCost({ sets }: CompiledSearch): number {
  const isHeavy = (set: (typeof sets)[number]) =>
    isOfObservations(set) || (set.type === "facet" && (set.match.type === "words" || set.match.type === "matches"));
  const heavy = sets.filter(isHeavy).length;
  return Math.min(MAX_COST, 2 + Math.floor(sets.length / SETS_PER_COST) + heavy * HEAVY_COST);
}
