import type { HostList, Revision, VersionedList } from "@noisefloor/domain/feeds/address-changes.ts";
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
  /** Names the list and its versions. A refresh that finds no difference keeps the revision. */
  revision: z.string(),
  /** The revision that it differs from; its own when it found no difference. */
  parent: z.string(),
  /** When the revision was made. */
  revisedAt: z.int(),
  /** Names the list alone: the revision that made it what it is. */
  list: z.string(),
  /** When that revision was made. */
  listedAt: z.int(),
  count: z.int(),
  /** How many matching addresses were left out because they are guarded. */
  guarded: z.int(),
  /** How many callbacks were left out because they are known hosts of code and files. */
  heldBack: z.int(),
  /** How many a ready-made feed left out because they could be forged. */
  leftOutSpoofable: z.int(),
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
export type Refresh = RefreshHead &
  Revision & {
    /** The whole list, where the refresh is a base. */
    readonly base: HostList | undefined;
  };

/** Stores a refresh, which is seen as a whole or not at all. */
export async function insertRefresh(
  client: ClickHouseClient,
  { added, removed, renewed, addedNames, removedNames, base, ...head }: Refresh,
): Promise<void> {
  const row = {
    ...toRow(head),
    basis: toDateTime64(head.basis),
    added: Array.from(added),
    removed: Array.from(removed),
    renewed: Array.from(renewed),
    added_names: addedNames,
    removed_names: removedNames,
    is_base: base !== undefined,
    addresses: Array.from(base?.addresses ?? []),
    versions: Array.from(base?.versions ?? []),
    names: base?.names ?? [],
  };
  await client.insert({ table: "feed_refreshes", values: [row], format: "JSONEachRow" });
}

const newestRefreshes = defineQuery({
  name: "newest-feed-refreshes",
  sql: `SELECT toString(feed_id) AS feedId, toUnixTimestamp64Milli(basis) AS basis,
      toUnixTimestamp64Milli(refreshed_at) AS refreshedAt, toString(revision) AS revision, toString(parent) AS parent,
      toUnixTimestamp64Milli(revised_at) AS revisedAt, toString(list) AS list, toUnixTimestamp64Milli(listed_at) AS listedAt,
      count, guarded, held_back AS heldBack, left_out_spoofable AS leftOutSpoofable, kept, fell_from AS fellFrom,
      toUnixTimestamp64Milli(fell_at) AS fellAt, is_truncated AS isTruncated, took_ms AS tookMs
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

/** The refresh that counts, of all or of those until a time. */
const NEWEST = "(basis, refreshed_at, revision)";

const countsBefore = defineQuery({
  name: "feed-counts-before",
  sql: `SELECT toString(feed_id) AS feedId, argMax(refresh.count, ${NEWEST}) AS count, argMax(fell_from, ${NEWEST}) AS fellFrom,
      argMaxIf(refresh.count, ${NEWEST}, refreshed_at <= fromUnixTimestamp64Milli({at:Int64}, 'UTC')) AS before
    FROM ${FEED_REFRESHES} AS refresh WHERE feed_id IN {feedIds:Array(UUID)}
      AND refreshed_at >= fromUnixTimestamp64Milli({at:Int64}, 'UTC') - toIntervalDay(9)
    GROUP BY feed_id HAVING countIf(refreshed_at <= fromUnixTimestamp64Milli({at:Int64}, 'UTC')) > 0`,
  params: z.object({ feedIds: z.array(z.string()), at: z.int() }),
  row: headSchema.pick({ feedId: true, count: true, fellFrom: true }).extend({ before: z.int() }),
});

/** How many addresses feeds list, and how many they listed at a time (ms since 1970 UTC), without feeds that are newer. */
export const readCountsBefore = (client: ClickHouseClient, feedIds: readonly string[], at: number) =>
  run(client, countsBefore, { feedIds: [...feedIds], at });

/** A revision, and which one it differs from. */
export type StoredRevision = Revision & {
  readonly revision: string;
  readonly parent: string;
};

/** @param renewed the column of the renewed addresses, in SQL. */
const revisionsBetween = (name: string, renewed: string) =>
  defineQuery({
    name,
    sql: `SELECT groupArray(toString(revision)) AS revisions, groupArray(toString(parent)) AS parents,
      groupArray(toUInt64(toUnixTimestamp64Milli(revised_at))) AS times,
      groupArray(toUInt32(length(added))) AS addedSizes, groupArray(toUInt32(length(removed))) AS removedSizes,
      groupArray(toUInt32(length(again))) AS renewedSizes, groupArray(toUInt32(length(added_names))) AS addedNameSizes,
      groupArray(toUInt32(length(removed_names))) AS removedNameSizes, arrayFlatten(groupArray(added)) AS allAdded,
      arrayFlatten(groupArray(removed)) AS allRemoved, arrayFlatten(groupArray(again)) AS allRenewed,
      arrayFlatten(groupArray(added_names)) AS allAddedNames, arrayFlatten(groupArray(removed_names)) AS allRemovedNames
    FROM (SELECT revision, parent, revised_at, added, removed, added_names, removed_names, ${renewed} AS again FROM ${FEED_REFRESHES}
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
      renewedSizes: numberColumn,
      addedNameSizes: numberColumn,
      removedNameSizes: numberColumn,
      allAdded: numberColumn,
      allRemoved: numberColumn,
      allRenewed: numberColumn,
      allAddedNames: z.array(z.string()),
      allRemovedNames: z.array(z.string()),
    }),
    format: "Native",
  });
const wholeRevisions = revisionsBetween("feed-revisions", "renewed");
const changesAlone = revisionsBetween("feed-changes", "CAST([], 'Array(UInt32)')");

/**
 * The revisions of a feed whose lists are as of a time, with those that another process made of the same parents.
 * @param since milliseconds since 1970 UTC, as `until`, which is in the time, too.
 * @param isWhole whether they say which addresses they renew; without it they name none.
 */
export async function readRevisions(
  client: ClickHouseClient,
  feedId: string,
  { since, until }: { readonly since: number; readonly until: number },
  isWhole: boolean,
): Promise<StoredRevision[]> {
  const columns = await runForOne(client, isWhole ? wholeRevisions : changesAlone, { feedId, since, until });
  const [added, removed] = [pieces(columns.allAdded), pieces(columns.allRemoved)];
  const renewed = pieces(columns.allRenewed);
  const [addedNames, removedNames] = [pieces(columns.allAddedNames), pieces(columns.allRemovedNames)];
  return columns.revisions.map((revision, index) => ({
    revision,
    parent: columns.parents[index] ?? NO_REVISION,
    revisedAt: columns.times[index] ?? 0,
    added: added(columns.addedSizes[index] ?? 0),
    removed: removed(columns.removedSizes[index] ?? 0),
    renewed: renewed(columns.renewedSizes[index] ?? 0),
    addedNames: addedNames(columns.addedNameSizes[index] ?? 0),
    removedNames: removedNames(columns.removedNameSizes[index] ?? 0),
  }));
}

/** Cuts an array into pieces that follow each other. */
function pieces<Whole>(all: { slice(start: number, end: number): Whole }): (length: number) => Whole {
  let start = 0;
  return (length) => {
    const piece = all.slice(start, start + length);
    start += length;
    return piece;
  };
}

const stepSchema = z.object({
  revision: z.string(),
  parent: z.string(),
  refreshedAt: z.int(),
  revisedAt: z.int(),
  /** Whether it is another list than its parent. */
  isList: z.boolean(),
  /** How many hosts came and left. */
  size: z.int(),
});
/** A revision without its addresses. Times in milliseconds since 1970 UTC. */
export type RevisionStep = z.infer<typeof stepSchema>;

/** SQL: how many addresses and names came, and how many left. */
export const ADDED = "toUInt32(length(added) + length(added_names))";
export const REMOVED = "toUInt32(length(removed) + length(removed_names))";

const steps = defineQuery({
  name: "feed-steps",
  sql: `SELECT toString(revision) AS revision, toString(parent) AS parent,
      toUnixTimestamp64Milli(refreshed_at) AS refreshedAt, toUnixTimestamp64Milli(revised_at) AS revisedAt,
      toBool(list = toUUID(revision)) AS isList, ${ADDED} + ${REMOVED} AS size
    FROM ${FEED_REFRESHES}
    WHERE feed_id = {feedId:UUID} AND refreshed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      AND parent != revision
    ORDER BY refreshed_at LIMIT 1 BY revision`,
  params: z.object({ feedId: z.string(), since: z.int() }),
  row: stepSchema,
});

/** The revisions of a feed whose lists are as of a time or later, the oldest first. */
export const readSteps = (client: ClickHouseClient, feedId: string, since: number): Promise<RevisionStep[]> =>
  run(client, steps, { feedId, since });

const firstRefresh = defineQuery({
  name: "first-feed-refresh",
  sql: `SELECT toUnixTimestamp64Milli(refreshed_at) AS refreshedAt, toUnixTimestamp64Milli(revised_at) AS revisedAt
    FROM ${FEED_REFRESHES} WHERE feed_id = {feedId:UUID} AND revision = {revision:UUID} ORDER BY refreshed_at LIMIT 1`,
  params: z.object({ feedId: z.string(), revision: z.string() }),
  row: headSchema.pick({ refreshedAt: true, revisedAt: true }),
});

/** The first refresh of a feed with a revision; undefined for a revision that is not stored. */
export async function readFirstRefresh(client: ClickHouseClient, feedId: string, revision: string) {
  return (await run(client, firstRefresh, { feedId, revision })).at(0);
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

const base = defineQuery({
  name: "feed-base",
  sql: `SELECT addresses, versions, names FROM ${FEED_REFRESHES}
    WHERE feed_id = {feedId:UUID} AND revision = {revision:UUID} AND is_base ORDER BY refreshed_at LIMIT 1`,
  params: z.object({ feedId: z.string(), revision: z.string() }),
  row: z.object({ addresses: numberColumn, versions: numberColumn, names: z.array(z.string()) }),
  format: "Native",
});

/** The whole list of a base. */
export const readBase = (client: ClickHouseClient, feedId: string, revision: string): Promise<HostList> =>
  runForOne(client, base, { feedId, revision });

/** A list that differs in nothing from the one before was made to renew what another list said that does not count. */
const REVOKED = `arrayConcat(removed, if(list = revision AND ${ADDED} + ${REMOVED} = 0, renewed, []))`;

/** A revision is made as soon as its list was searched for, which takes less than an hour. */
const departures = defineQuery({
  name: "feed-departures",
  sql: `SELECT groupArray(address) AS addresses, groupArray(toUInt32(version)) AS versions FROM (
      SELECT arrayJoin(${REVOKED}) AS address, max(toUnixTimestamp(revised_at)) AS version FROM ${FEED_REFRESHES}
      WHERE feed_id = {feedId:UUID} AND parent != revision
        AND refreshed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') - toIntervalHour(1)
        AND revised_at > fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        AND revised_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')
      GROUP BY address ORDER BY address)`,
  params: z.object({ feedId: z.string(), since: z.int(), until: z.int() }),
  row: z.object({ addresses: numberColumn, versions: numberColumn }),
  format: "Native",
});

/**
 * The addresses that left a feed in a time, with the version by which they did; some of them may be back.
 * @param since milliseconds since 1970 UTC, not in the time, as `until`, which is.
 */
export const readDepartures = (
  client: ClickHouseClient,
  feedId: string,
  since: number,
  until: number,
): Promise<VersionedList> => runForOne(client, departures, { feedId, since, until });
