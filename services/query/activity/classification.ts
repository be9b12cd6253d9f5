import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { onlyRow, type Read } from "@noisefloor/clickhouse/client/query.ts";
import { isGlobal, type Scope } from "@noisefloor/domain/access/scope.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { type LookupCaches, refreshOutdated } from "../address/store-lookup.ts";
import type { AddressIndex } from "../address-index/memory-lookup.ts";
import { countAddresses, countByClassification, listAddresses } from "./classification-queries.ts";
import { blocksOf } from "./hour-blocks.ts";
import { decodeAddresses } from "./listed-addresses.ts";
import type { Refusals } from "./refusals.ts";
import type { WorstSeverities } from "./severity-table.ts";
import { type CountsBySeverity, countSeverities, readOtherDatasets } from "./worst-severities.ts";

export type ClassificationDeps = LookupCaches & {
  readonly catalogue: Pick<TagCatalogue, "all">;
  /** Classifies addresses of the global dataset without a query. */
  readonly index?: AddressIndex | undefined;
  /** The most addresses of a tag that are classified in this process, {@link MAX_LISTED} by default. */
  readonly maxListed?: number | undefined;
  /** The most rows of other datasets that are read for more than a few addresses; see {@link readOtherDatasets}. */
  readonly maxSeverityRows?: number | undefined;
  readonly refusals: Refusals;
};

/** Some ten megabytes on their way. */
const MAX_LISTED = 2_000_000;

export type ClassificationQuery = {
  readonly tag: Pick<Tag, "id" | "intention">;
  readonly scopes: Scope[];
  /** Seconds since 1970 UTC, on the hour; the end is exclusive. */
  readonly from: number;
  readonly end: number;
  /** Milliseconds: tags that an address had before do not count. */
  readonly since: number;
};

/** How to count the distinct addresses that a tag had in a slice. */
export type ClassificationPlan = {
  /** The severity of all addresses, where it can be no other: who knows how many there are does not have to count. */
  readonly sameForAll?: number;
  /** For who has the addresses already: this many at most are classified in this process. */
  readonly inMemory?: {
    readonly most: number;
    readonly count: (addresses: Uint32Array, read: Read) => Promise<CountsBySeverity>;
    /** Counts more of them. */
    readonly countMore: (read: Read) => Promise<CountsBySeverity>;
  };
  readonly count: (read: Read) => Promise<CountsBySeverity>;
};

/**
 * Chooses the cheapest exact way to count them. An address has the tag's own classification unless it has a worse tag,
 * too, or belongs to an actor.
 */
export async function planClassification(
  query: ClassificationQuery,
  deps: ClassificationDeps,
): Promise<ClassificationPlan> {
  await refreshOutdated(deps);
  const { id: tag, intention } = query.tag;
  const slice = { tag, scopes: query.scopes, from: query.from, end: query.end, ...blocksOf(query) };
  const own = INTENTIONS.indexOf(intention);
  const worse = deps.catalogue.all().filter((other) => INTENTIONS.indexOf(other.intention) > own);
  const { actor, hasActors } = deps.networks.current();
  if (worse.length === 0 && !hasActors) {
    return {
      sameForAll: own,
      count: async (read) => new Map([[own, onlyRow(countAddresses, await read(countAddresses, slice)).addresses]]),
    };
  }
  const ofWorse = {
    ...slice,
    since: query.since,
    worse: worse.map(({ id }) => id),
    severities: worse.map((other) => INTENTIONS.indexOf(other.intention)),
  };
  const countInStore = async (read: Read) => {
    const rows = await read(countByClassification, { ...ofWorse, own });
    return new Map(rows.map(({ severity, addresses }) => [severity, addresses]));
  };
  const index = deps.index?.isCurrent() ? deps.index : undefined;
  const needsIndex = worse.length > 0 && query.scopes.some(isGlobal);
  const needsOthers = worse.length > 0 && !query.scopes.every(isGlobal);
  if (needsIndex && index === undefined) return { count: countInStore };
  const { maxListed: most = MAX_LISTED, maxSeverityRows: maxRows, refusals } = deps;
  const readWorst = async (read: Read, addresses?: number): Promise<WorstSeverities[]> => [
    ...(needsIndex && index !== undefined ? [index] : []),
    ...(needsOthers ? [await readOtherDatasets(ofWorse, { most, addresses, maxRows, refusals }, read)] : []),
  ];
  const isOfActor = hasActors ? (address: number) => actor(address) !== undefined : undefined;
  const countInMemory = (addresses: Uint32Array, worst: readonly WorstSeverities[]) =>
    countSeverities(addresses, { own, since: query.since, worst, isOfActor });
  return {
    inMemory: {
      most,
      count: async (addresses, read) => countInMemory(addresses, await readWorst(read, addresses.length)),
      countMore: countInStore,
    },
    count: async (read) => {
      const list = listAddresses(most);
      const [rows, worst] = await Promise.all([read(list, slice), readWorst(read)]);
      const { total, addresses } = onlyRow(list, rows);
      return total > most ? countInStore(read) : countInMemory(decodeAddresses(addresses), worst);
    },
  };
}

/** The number of distinct addresses of a whole slice, and these, unless there are more than are classified in memory. */
type Whole = { readonly total: number; readonly addresses: Uint32Array };

/** Counts by severity the addresses of a slice that have been counted and perhaps listed. */
export async function classifyWhole(
  { total, addresses }: Whole,
  { sameForAll, inMemory, count }: ClassificationPlan,
  read: Read,
): Promise<CountsBySeverity> {
  if (sameForAll !== undefined) return new Map([[sameForAll, total]]);
  if (inMemory === undefined) return count(read);
  return total > inMemory.most ? inMemory.countMore(read) : inMemory.count(addresses, read);
}
