import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { numberColumn, wideNumbers } from "../client/native.ts";
import { defineQuery, run, runForOne, toDateTime64 } from "../client/query.ts";
import { FEED_REFRESHES } from "../client/table-names.ts";
import { toRow } from "../records/rows.ts";

/** The parent of a list that is not the change of another one. */
export const NO_REVISION = "00000000-0000-0000-0000-000000000000";

/** What one refresh of a feed has found. Times in milliseconds since 1970 UTC. */
const headSchema = z.object({
  feedId: z.string(),
  /** When the feed or the guarded networks changed last. Of two refreshes the one with the newer basis counts. */
  basis: z.int(),
  /** As of when the list is. */
  refreshedAt: z.int(),
  /** Names the list. A refresh that finds no difference keeps the revision. */
  revision: z.string(),
  /** The revision that it differs from; its own when it found no difference. */
  parent: z.string(),
  count: z.int(),
  /** How many matching addresses were left out because they are guarded. */
  guarded: z.int(),
  /** How many of the listed it did not find: they are kept because the list fell. */
  kept: z.int(),
  /** How many addresses the list had before it fell, and when it did; 0 for a list that is not marked as fallen. */
  fellFrom: z.int(),
  fellAt: z.int(),
  isTruncated: z.boolean(),
  tookMs: z.int(),
});
export type RefreshHead = z.infer<typeof headSchema>;

/** A refresh as it is stored. Addresses are IPv4 as numbers in ascending order. */
export type Refresh = RefreshHead & {
  readonly added: Uint32Array;
  readonly removed: Uint32Array;
  /** The whole list, where the refresh is a base. */
  readonly base: Uint32Array | undefined;
};

/** Stores refreshes: each is seen as a whole or not at all. */
export async function insertRefreshes(client: ClickHouseClient, refreshes: readonly Refresh[]): Promise<void> {
  await client.insert({
    table: "feed_refreshes",
    values: refreshes.map(({ added, removed, base, ...head }) => ({
      ...toRow(head),
      basis: toDateTime64(head.basis),
      added: [...added],
      removed: [...removed],
      is_base: base !== undefined,
      addresses: base === undefined ? [] : Array.from(base),
    })),
    format: "JSONEachRow",
  });
}

const newestRefreshes = defineQuery({
  name: "newest-feed-refreshes",
  sql: `SELECT toString(feed_id) AS feedId, toUnixTimestamp64Milli(basis) AS basis,
      toUnixTimestamp64Milli(refreshed_at) AS refreshedAt, toString(revision) AS revision, toString(parent) AS parent,
      count, guarded, kept, fell_from AS fellFrom, toUnixTimestamp64Milli(fell_at) AS fellAt, is_truncated AS isTruncated, took_ms AS tookMs
    FROM ${FEED_REFRESHES}
    WHERE refreshed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      AND (empty({feedIds:Array(UUID)}) OR feed_id IN {feedIds:Array(UUID)})
    ORDER BY feed_id, basis DESC, refreshed_at DESC, revision DESC LIMIT 1 BY feed_id`,
  params: z.object({ since: z.int(), feedIds: z.array(z.string()) }),
  row: headSchema,
});

/**
 * The refresh that counts of each feed that was refreshed since a time.
 * @param feedIds of these alone, if there are any.
 */
export const readRefreshHeads = (
  client: ClickHouseClient,
  since: number,
  feedIds: readonly string[] = [],
): Promise<RefreshHead[]> => run(client, newestRefreshes, { since, feedIds: [...feedIds] });

/** How two revisions differ. Addresses in ascending order. */
export type StoredChange = {
  readonly revision: string;
  readonly parent: string;
  /** When the revision was made, in milliseconds since 1970 UTC. */
  readonly refreshedAt: number;
  readonly added: Uint32Array;
  readonly removed: Uint32Array;
};

const changesBetween = defineQuery({
  name: "feed-changes",
  sql: `SELECT groupArray(toString(revision)) AS revisions, groupArray(toString(parent)) AS parents,
      groupArray(toUInt64(toUnixTimestamp64Milli(refreshed_at))) AS times,
      groupArray(toUInt32(length(added))) AS addedSizes, groupArray(toUInt32(length(removed))) AS removedSizes,
      arrayFlatten(groupArray(added)) AS allAdded, arrayFlatten(groupArray(removed)) AS allRemoved
    FROM (SELECT revision, parent, refreshed_at, added, removed FROM ${FEED_REFRESHES}
      WHERE feed_id = {feedId:UUID} AND parent != revision
        AND refreshed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        AND refreshed_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')
      ORDER BY refreshed_at LIMIT 1 BY revision)`,
  params: z.object({ feedId: z.string(), since: z.int(), until: z.int() }),
  row: z.object({
    revisions: z.array(z.string()),
    parents: z.array(z.string()),
    times: wideNumbers,
    addedSizes: numberColumn,
    removedSizes: numberColumn,
    allAdded: numberColumn,
    allRemoved: numberColumn,
  }),
  format: "Native",
});

/**
 * The changes of a feed that were made in a time, with those that another process made of the same parents.
 * @param since milliseconds since 1970 UTC, as `until`, which is in the time, too.
 */
export async function readChanges(
  client: ClickHouseClient,
  feedId: string,
  since: number,
  until: number,
): Promise<StoredChange[]> {
  const columns = await runForOne(client, changesBetween, { feedId, since, until });
  const [added, removed] = [pieces(columns.allAdded), pieces(columns.allRemoved)];
  return columns.revisions.map((revision, index) => ({
    revision,
    parent: columns.parents[index] ?? NO_REVISION,
    refreshedAt: columns.times[index] ?? 0,
    added: added(columns.addedSizes[index] ?? 0),
    removed: removed(columns.removedSizes[index] ?? 0),
  }));
}

const steps = defineQuery({
  name: "feed-steps",
  sql: `SELECT toString(revision) AS revision, toString(parent) AS parent,
      toUnixTimestamp64Milli(refreshed_at) AS refreshedAt, toUInt32(length(added) + length(removed)) AS size
    FROM ${FEED_REFRESHES}
    WHERE feed_id = {feedId:UUID} AND refreshed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      AND parent != revision
    ORDER BY refreshed_at LIMIT 1 BY revision`,
  params: z.object({ feedId: z.string(), since: z.int() }),
  row: z.object({ revision: z.string(), parent: z.string(), refreshedAt: z.int(), size: z.int() }),
});

/** The same changes up to now with how many addresses each holds, instead of these. */
export const readSteps = (client: ClickHouseClient, feedId: string, since: number) =>
  run(client, steps, { feedId, since });

const revisions = defineQuery({
  name: "feed-revisions",
  sql: `SELECT toString(revision) AS revision, toUnixTimestamp64Milli(refreshed_at) AS refreshedAt, count,
      if(parent = {none:UUID}, count, came) AS added, gone AS removed
    FROM (SELECT revision, parent, refreshed_at, count,
        toUInt32(length(added)) AS came, toUInt32(length(removed)) AS gone FROM ${FEED_REFRESHES}
      WHERE feed_id = {feedId:UUID} AND parent != revision ORDER BY refreshed_at LIMIT 1 BY revision)
    ORDER BY refreshed_at DESC, revision DESC LIMIT {limit:UInt32}`,
  params: z.object({ feedId: z.string(), none: z.string(), limit: z.int() }),
  row: z.object({ revision: z.string(), refreshedAt: z.int(), count: z.int(), added: z.int(), removed: z.int() }),
});

/**
 * The last revisions of a feed, the newest first, with how many addresses each lists, and how many came and left since
 * the one before it. `refreshedAt` is when it was made, in milliseconds since 1970 UTC.
 */
export const readRevisions = (client: ClickHouseClient, feedId: string, limit: number) =>
  run(client, revisions, { feedId, none: NO_REVISION, limit });

/** Cuts an array into pieces that follow each other. */
function pieces(all: Uint32Array): (length: number) => Uint32Array {
  let start = 0;
  return (length) => {
    const piece = all.slice(start, start + length);
    start += length;
    return piece;
  };
}

const firstRefresh = defineQuery({
  name: "first-feed-refresh",
  sql: `SELECT toUnixTimestamp64Milli(min(refreshed_at)) AS first, toBool(count() > 0) AS isKnown FROM ${FEED_REFRESHES}
    WHERE feed_id = {feedId:UUID} AND revision = {revision:UUID}`,
  params: z.object({ feedId: z.string(), revision: z.string() }),
  row: z.object({ first: z.int(), isKnown: z.boolean() }),
});

/** When a feed had a revision first, in milliseconds since 1970 UTC; undefined for a revision that is not stored. */
export async function readFirstTime(
  client: ClickHouseClient,
  feedId: string,
  revision: string,
): Promise<number | undefined> {
  const [found] = await run(client, firstRefresh, { feedId, revision });
  return found?.isKnown ? found.first : undefined;
}

const bases = defineQuery({
  name: "feed-bases",
  sql: `SELECT toString(revision) AS revision, toUnixTimestamp64Milli(refreshed_at) AS refreshedAt FROM ${FEED_REFRESHES}
    WHERE feed_id = {feedId:UUID} AND is_base ORDER BY refreshed_at DESC`,
  params: z.object({ feedId: z.string() }),
  row: z.object({ revision: z.string(), refreshedAt: z.int() }),
});

/** The refreshes that have a whole list, the newest first. */
export const readBases = (client: ClickHouseClient, feedId: string) => run(client, bases, { feedId });

const baseAddresses = defineQuery({
  name: "feed-base",
  sql: `SELECT addresses FROM ${FEED_REFRESHES}
    WHERE feed_id = {feedId:UUID} AND revision = {revision:UUID} AND is_base LIMIT 1`,
  params: z.object({ feedId: z.string(), revision: z.string() }),
  row: z.object({ addresses: numberColumn }),
  format: "Native",
});

/** The whole list of a base. */
export const readBase = async (client: ClickHouseClient, feedId: string, revision: string): Promise<Uint32Array> =>
  (await runForOne(client, baseAddresses, { feedId, revision })).addresses;
