import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { onlyRow, type Read } from "@noisefloor/clickhouse/client/query.ts";
import { isGlobalOnly, type Scope } from "@noisefloor/domain/access/scope.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import { type LookupCaches, refreshOutdated } from "../address/store-lookup.ts";
import type { AddressIndex } from "../address-index/memory-lookup.ts";
import { blocksOf } from "./hour-blocks.ts";
import { decodeAddresses } from "./listed-addresses.ts";
import { countAddresses, countByClassification, listAddresses } from "./queries.ts";

export type ClassificationDeps = LookupCaches & {
  readonly catalogue: Pick<TagCatalogue, "all">;
  /** Classifies addresses of the global dataset without a query. */
  readonly index?: AddressIndex | undefined;
  /** The most addresses of a tag that are classified without a query, {@link MAX_LISTED} by default. */
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

/** Distinct addresses by severity: the index of their classification in {@link INTENTIONS}. */
export type CountsBySeverity = ReadonlyMap<number, number>;

/** How to count the distinct addresses that a tag had in a slice. */
export type ClassificationPlan = {
  /** The severity of all addresses, where it can be no other: who knows how many there are does not have to count. */
  readonly sameForAll?: number;
  /** For who has the addresses already: this many at most are classified in memory, without a query. */
  readonly inMemory?: {
    readonly most: number;
    readonly count: (addresses: Uint32Array) => Promise<CountsBySeverity>;
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
  const countInStore = async (read: Read) => {
    const severities = worse.map((other) => INTENTIONS.indexOf(other.intention));
    const params = { ...slice, since: query.since, own, worse: worse.map(({ id }) => id), severities };
    const rows = await read(countByClassification, params);
    return new Map(rows.map(({ severity, addresses }) => [severity, addresses]));
  };
  const index = isGlobalOnly(query.scopes) && deps.index?.isCurrent() ? deps.index : undefined;
  if (worse.length > 0 && index === undefined) return { count: countInStore };
  const severitiesOf = (addresses: Uint32Array) => {
    const known = worse.length === 0 ? undefined : index?.severitiesOf(addresses, query.since);
    const severities = new Uint8Array(addresses.length).fill(own);
    for (let place = 0; place < addresses.length; place++) {
      if (hasActors && actor(addresses[place] ?? 0) !== undefined) severities[place] = 0;
      else if (known !== undefined) severities[place] = Math.max(own, (known[place] ?? 0) - 1);
    }
    return severities;
  };
  const { maxListed: most = MAX_LISTED } = deps;
  const countInMemory = (addresses: Uint32Array) => classify(addresses, severitiesOf);
  return {
    inMemory: { most, count: countInMemory, countMore: countInStore },
    count: async (read) => {
      const list = listAddresses(most);
      const { total, addresses } = onlyRow(list, await read(list, slice));
      return total > most ? countInStore(read) : countInMemory(decodeAddresses(addresses));
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
  return total > inMemory.most ? inMemory.countMore(read) : inMemory.count(addresses);
}

/** Classifying blocks the event loop: this many addresses take two to six milliseconds. */
const ADDRESSES_PER_TURN = 20_000;

type SeveritiesOf = (addresses: Uint32Array) => Uint8Array;

async function classify(addresses: Uint32Array, severitiesOf: SeveritiesOf): Promise<CountsBySeverity> {
  const counts = new Uint32Array(INTENTIONS.length);
  for (let start = 0; start < addresses.length; start += ADDRESSES_PER_TURN) {
    for (const severity of severitiesOf(addresses.subarray(start, start + ADDRESSES_PER_TURN))) {
      counts[severity] = (counts[severity] ?? 0) + 1;
    }
    await ownTurn();
  }
  return new Map(counts.entries());
}
