import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { onlyRow, type Read } from "@noisefloor/clickhouse/client/query.ts";
import { isGlobal, type Scope } from "@noisefloor/domain/access/scope.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { type LookupCaches, refreshOutdated } from "../address/lookup-caches.ts";
import type { AddressIndex } from "../address-index/memory-lookup.ts";
import { blocksOf } from "../address-sets/hour-blocks.ts";
import { type CountsBySeverity, countBySeverity, tabulate, type WorstSeverities } from "../address-sets/severities.ts";
import {
  countAddresses,
  countByClassification,
  listAddresses,
  worstInOtherDatasets,
} from "./classification-queries.ts";

export type ClassificationDeps = LookupCaches & {
  readonly catalogue: Pick<TagCatalogue, "all">;
  /** Classifies addresses of the global dataset without a query. */
  readonly index?: AddressIndex | undefined;
  /** How many addresses of a tag are at most classified in this process, {@link MAX_LISTED} by default. */
  readonly maxListed?: number | undefined;
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
  /** Set when every address must have this severity: a caller that knows their number need not count them. */
  readonly sameForAll?: number;
  /** For a caller that has the addresses already: up to `max` are classified in this process. */
  readonly inMemory?: {
    readonly max: number;
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
  const { maxListed: max = MAX_LISTED } = deps;
  const readWorst = async (read: Read): Promise<WorstSeverities[]> => [
    ...(needsIndex && index !== undefined ? [index] : []),
    ...(needsOthers ? [await tabulate(await read(worstInOtherDatasets(max), ofWorse))] : []),
  ];
  const isOfActor = hasActors ? (address: number) => actor(address) !== undefined : undefined;
  const countInMemory = (blocks: readonly Uint32Array[], worst: readonly WorstSeverities[]) =>
    countBySeverity(blocks, { own, since: query.since, worst, isOfActor });
  return {
    inMemory: {
      max,
      count: async (addresses, read) => countInMemory([addresses], await readWorst(read)),
      countMore: countInStore,
    },
    count: async (read) => {
      const [rows, worst] = await Promise.all([read(listAddresses(max + 1), slice), readWorst(read)]);
      const blocks = rows.map(({ source_ip }) => source_ip);
      const total = blocks.reduce((sum, { length }) => sum + length, 0);
      return total > max ? countInStore(read) : countInMemory(blocks, worst);
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
  return total > inMemory.max ? inMemory.countMore(read) : inMemory.count(addresses, read);
}
