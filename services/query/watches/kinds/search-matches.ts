import { numberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";
import type { CompiledSearch } from "../../conditions/compile-bitmaps.ts";
import { searchParams } from "../../conditions/compile-bitmaps.ts";
import { feedAddresses } from "../../feeds/lists/queries.ts";
import { allRows } from "../../scope-sql.ts";
import { unadmitted } from "../../search/admit-query.ts";
import type { QuestionsInMemory } from "../../search/in-memory.ts";
import { compile, prepareSearch, type Search, type SearchDeps } from "../../search/search.ts";
import { describeAddresses, nameSome } from "./describe-addresses.ts";
import type { Finding, IsTold, Watching } from "./kind.ts";

type SearchWatching = Watching<"search_matches">;
type Searching = Pick<SearchWatching, "caller"> & { readonly watch: Pick<SearchWatching["watch"], "on"> };

/** A watch of a search that more addresses match when it is made is no news of any. */
export const MAX_KNOWN_ADDRESSES = 1_000_000;
/** A parameter's text must stay below the server's 128 KiB. */
const ADDRESSES_PER_QUERY = 8_000;
const ALL_ADDRESSES = 2 ** 32 - 1;

/** Addresses of which observations of the global dataset were stored lately. Times in seconds since 1970 UTC. */
export type Candidates = ReadonlyMap<number, { readonly observed: number; readonly received: number }>;

export type MatchDeps = SearchDeps & {
  /** Answers from memory; what is not there is asked of the store. */
  readonly memory: QuestionsInMemory | undefined;
};

/** Like a feed, a watch finds in the global dataset what its workspace may find. */
const prepare = ({ caller, watch }: Searching, deps: SearchDeps, signal: AbortSignal) =>
  prepareSearch({ caller, query: watch.on.query, days: undefined, scopes: [GLOBAL_SCOPE] }, deps, unadmitted(signal));

/**
 * The addresses that match the search of a watch now.
 * @returns undefined when they are more than a watch can know of.
 * @throws HttpError 400 with every error of the query and its place.
 */
export async function readMatching(
  watching: Searching,
  deps: SearchDeps,
  signal: AbortSignal,
): Promise<Uint32Array | undefined> {
  const compiled = compile(await prepare(watching, deps, signal));
  const limit = MAX_KNOWN_ADDRESSES;
  const rows = await deps.read(feedAddresses(compiled), { ...compiled.params, limit }, signal);
  const count = rows.reduce((sum, row) => sum + row.count.reduce((all, one) => all + one, 0), 0);
  if (count > limit) return undefined;
  const all = new Uint32Array(count);
  let length = 0;
  for (const { addresses } of rows) {
    all.set(addresses, length);
    length += addresses.length;
  }
  return all;
}

const matchingAmong = ({ sql }: CompiledSearch) =>
  defineQuery({
    name: "watch-matches",
    sql: `SELECT bitmapToArray(bitmapAnd(found, bitmapBuild({candidates:Array(UInt32)}))) AS addresses FROM (${sql})`,
    combine: allRows,
    params: searchParams.extend({ candidates: z.array(z.int()) }),
    row: z.object({ addresses: numberColumn }),
    format: "Native",
  });

async function matchInStore(
  search: Search,
  candidates: Candidates,
  among: Uint32Array,
  { read }: SearchDeps,
  signal: AbortSignal,
): Promise<readonly number[]> {
  if (among.length <= ADDRESSES_PER_QUERY) {
    const compiled = compile(search);
    const rows = await read(matchingAmong(compiled), { ...compiled.params, candidates: [...among] }, signal);
    return rows.flatMap(({ addresses }) => [...addresses]);
  }
  // To find the search anew for each piece of the candidates takes longer than to read all that were seen since.
  let oldest = Number.POSITIVE_INFINITY;
  for (const { observed } of candidates.values()) oldest = Math.min(oldest, observed);
  const compiled = compile({ ...search, reach: Math.max(search.reach ?? 0, oldest * 1_000) });
  const rows = await read(feedAddresses(compiled), { ...compiled.params, limit: ALL_ADDRESSES }, signal);
  return rows.flatMap(({ addresses }) => [...addresses].filter((address) => candidates.has(address)));
}

/** Memory has no answer now. */
export const NOT_IN_MEMORY = Symbol("not in memory");

/**
 * The addresses among the candidates that match a watch's search and were not told of.
 * @param asksStore whether the store is asked for what memory does not answer.
 */
export async function findMatches(
  { watch, caller }: SearchWatching,
  candidates: Candidates,
  /** Their numbers, ascending. */
  among: Uint32Array,
  isTold: IsTold,
  { asksStore, ...deps }: MatchDeps & { readonly asksStore: boolean },
  signal: AbortSignal,
): Promise<Finding | typeof NOT_IN_MEMORY | undefined> {
  const search = await prepare({ watch, caller }, deps, signal);
  const matching =
    (await deps.memory?.among(search, among, signal)) ??
    (asksStore ? await matchInStore(search, candidates, among, deps, signal) : undefined);
  if (matching === undefined) return NOT_IN_MEMORY;
  const subjects = new Map<number, number>();
  for (const address of matching) {
    const { observed, received } = candidates.get(address) ?? { observed: 0, received: 0 };
    const isSince = received >= Math.floor(watch.sinceAt / 1_000);
    if (isSince && !isTold(watch, address, observed)) subjects.set(address, observed);
  }
  if (subjects.size === 0) return undefined;
  return {
    watch,
    subjects,
    async describe(asking) {
      const { addresses, names } = await describeAddresses(subjects, [GLOBAL_SCOPE], deps, asking);
      const what =
        subjects.size === 1
          ? `${addresses[0]?.ip} begins to match`
          : `${subjects.size} addresses begin to match, ${addresses[0]?.ip} among them`;
      return {
        type: "search_matches",
        summary: `${what}: ${watch.on.query}${names.length === 0 ? "" : ` (${nameSome(names)})`}`,
        data: {
          query: watch.on.query,
          count: subjects.size,
          truncated: subjects.size > addresses.length,
          addresses,
        },
      };
    },
  };
}
