import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { FEED_OBJECTS } from "../client/table-names.ts";
import { toRow } from "../records/rows.ts";

const objectSchema = z.object({
  /** The UUID of its indicator. */
  id: z.string(),
  address: z.int(),
  /** Milliseconds since 1970 UTC, as the next one. */
  createdAt: z.int(),
  modifiedAt: z.int(),
  /** Seconds since 1970 UTC, as the next two. */
  firstSeen: z.int(),
  lastSeen: z.int(),
  validUntil: z.int(),
  classification: z.enum(INTENTIONS),
  tags: z.array(z.string()),
  isRevoked: z.boolean(),
});
/** A version of an address in a feed. */
export type StoredObject = z.infer<typeof objectSchema>;

/** What a version says of an address of which nothing is stored. */
export const NOTHING_KNOWN: Pick<StoredObject, "firstSeen" | "lastSeen" | "validUntil" | "classification" | "tags"> = {
  ...{ firstSeen: 0, lastSeen: 0, validUntil: 0, classification: "unknown", tags: [] },
};
export const isErased = ({ lastSeen }: Pick<StoredObject, "lastSeen">): boolean => lastSeen === 0;

const COLUMNS = `toString(object_id) AS id, address, toUnixTimestamp64Milli(created_at) AS createdAt,
      toUnixTimestamp64Milli(modified_at) AS modifiedAt, toUnixTimestamp(first_seen) AS firstSeen, toUnixTimestamp(last_seen) AS lastSeen,
      toUnixTimestamp(valid_until) AS validUntil, toString(classification) AS classification, tags, is_revoked AS isRevoked`;

/** Stores versions of a feed's objects. All are seen, or none. */
export async function insertObjects(
  client: ClickHouseClient,
  feedId: string,
  objects: readonly StoredObject[],
): Promise<void> {
  const values = objects.map((object) => ({ feed_id: feedId, ...toRow(object, { id: "object_id" }) }));
  await client.insert({ table: "feed_objects", values, format: "JSONEachRow" });
}

/** What decides whether an object needs a new version, as columns of equal length in order of the addresses. */
const objectColumns = z.object({
  addresses: numberColumn,
  /** Seconds since 1970 UTC. */
  lastSeen: numberColumn,
  /** Of the current versions, in hours since 1970 UTC. */
  modifiedHours: numberColumn,
  isRevoked: z.instanceof(Uint8Array),
});
export type ObjectIndex = z.infer<typeof objectColumns>;

const objectIndex = defineQuery({
  name: "feed-object-index",
  sql: `SELECT groupArray(address) AS addresses, groupArray(toUInt32(last_seen)) AS lastSeen,
      groupArray(toUInt32(intDiv(toUnixTimestamp64Milli(modified_at), 3600000))) AS modifiedHours,
      groupArray(toUInt8(is_revoked)) AS isRevoked
    FROM (SELECT * FROM ${FEED_OBJECTS} FINAL WHERE feed_id = {feedId:UUID} ORDER BY address)`,
  params: z.object({ feedId: z.string() }),
  row: objectColumns,
  format: "Native",
});

export const readObjectIndex = (client: ClickHouseClient, feedId: string): Promise<ObjectIndex> =>
  runForOne(client, objectIndex, { feedId });

const newestVersion = defineQuery({
  name: "newest-feed-objects",
  sql: `SELECT toUnixTimestamp64Milli(modified_at) AS modifiedAt, uniqExact(address) AS count FROM ${FEED_OBJECTS}
    WHERE feed_id = {feedId:UUID} GROUP BY modified_at ORDER BY modified_at DESC LIMIT 1`,
  params: z.object({ feedId: z.string() }),
  row: z.object({ modifiedAt: z.int(), count: z.int() }),
});

/**
 * The time of a feed's newest version, in milliseconds since 1970 UTC, and how many addresses have one of that time.
 */
export async function readNewestVersion(
  client: ClickHouseClient,
  feedId: string,
): Promise<{ readonly modifiedAt: number; readonly count: number }> {
  const [newest] = await run(client, newestVersion, { feedId });
  return newest ?? { modifiedAt: 0, count: 0 };
}

const firstCreated = defineQuery({
  name: "first-feed-object",
  sql: `SELECT address, toUnixTimestamp64Milli(min(created_at)) AS createdAt FROM ${FEED_OBJECTS}
    WHERE address IN {addresses:Array(UInt32)} GROUP BY address`,
  params: z.object({ addresses: z.array(z.int()) }),
  row: z.object({ address: z.int(), createdAt: z.int() }),
});

/** When addresses first became objects, of any feed, in milliseconds since 1970 UTC. New ones are missing. */
export async function readFirstCreated(
  client: ClickHouseClient,
  addresses: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await run(client, firstCreated, { addresses: [...addresses] });
  return new Map(rows.map(({ address, createdAt }) => [address, createdAt]));
}

const objectsOf = defineQuery({
  name: "feed-objects-of",
  sql: `SELECT ${COLUMNS} FROM ${FEED_OBJECTS} FINAL
    WHERE feed_id = {feedId:UUID} AND address IN {addresses:Array(UInt32)} ORDER BY address`,
  params: z.object({ feedId: z.string(), addresses: z.array(z.int()) }),
  row: objectSchema,
});

/** The current versions of some addresses, in their order. */
export const readObjectsOf = (
  client: ClickHouseClient,
  feedId: string,
  addresses: readonly number[],
): Promise<StoredObject[]> => run(client, objectsOf, { feedId, addresses: [...addresses] });

const objectsAfter = defineQuery({
  name: "feed-objects-after",
  sql: `SELECT ${COLUMNS} FROM ${FEED_OBJECTS} FINAL
    WHERE feed_id = {feedId:UUID} AND address > {address:UInt32} ORDER BY address LIMIT {limit:UInt32}`,
  params: z.object({ feedId: z.string(), address: z.int(), limit: z.int() }),
  row: objectSchema,
});

/** All current versions, of revoked objects too, in numeric order of their addresses, in blocks. */
export async function* readAllObjects(client: ClickHouseClient, feedId: string): AsyncGenerator<StoredObject[]> {
  const limit = 5_000;
  // No address of the Internet is 0.0.0.0.
  let address = 0;
  for (;;) {
    const objects = await run(client, objectsAfter, { feedId, address, limit });
    yield objects;
    if (objects.length < limit) return;
    address = objects.at(-1)?.address ?? 0;
  }
}

const changedSince = defineQuery({
  name: "feed-objects-changed",
  sql: `SELECT groupArray(address) AS addresses FROM (SELECT address FROM ${FEED_OBJECTS} FINAL
      WHERE feed_id = {feedId:UUID} AND modified_at > fromUnixTimestamp64Milli({since:Int64}, 'UTC') ORDER BY address)`,
  params: z.object({ feedId: z.string(), since: z.int() }),
  row: z.object({ addresses: numberColumn }),
  format: "Native",
});

/** The addresses whose version is newer than a time in milliseconds since 1970 UTC, in their order. */
export const readChangedObjects = async (
  client: ClickHouseClient,
  feedId: string,
  since: number,
): Promise<Uint32Array> => (await runForOne(client, changedSince, { feedId, since })).addresses;

/** A page of objects begins after this version. */
export type ObjectPosition = { readonly modifiedAt: number; readonly address: number };

export type PageOptions = {
  readonly after: ObjectPosition;
  readonly limit: number;
  /**
   * Leaves out objects that were revoked up to this time, in milliseconds since 1970 UTC, for a consumer without any.
   */
  readonly revokedAfter: number;
  /** Only these UUIDs; all of them when it is empty. */
  readonly ids: readonly string[];
  /** Only versions of these times, in milliseconds since 1970 UTC; all of them when it is empty. */
  readonly versions: readonly number[];
};

const page = defineQuery({
  name: "feed-object-page",
  sql: `SELECT ${COLUMNS} FROM ${FEED_OBJECTS} FINAL
    WHERE feed_id = {feedId:UUID}
      AND (modified_at, address) > (fromUnixTimestamp64Milli({modifiedAt:Int64}, 'UTC'), {address:UInt32})
      AND (NOT is_revoked OR modified_at > fromUnixTimestamp64Milli({revokedAfter:Int64}, 'UTC'))
      AND (empty({ids:Array(UUID)}) OR object_id IN {ids:Array(UUID)})
      AND (empty({versions:Array(Int64)}) OR toUnixTimestamp64Milli(modified_at) IN {versions:Array(Int64)})
    ORDER BY modified_at, address LIMIT {limit:UInt32}`,
  params: z.object({
    feedId: z.string(),
    modifiedAt: z.int(),
    address: z.int(),
    ids: z.array(z.string()),
    versions: z.array(z.int()),
    revokedAfter: z.int(),
    limit: z.int(),
  }),
  row: objectSchema,
});

/** The next versions in the order of their times, then of their addresses. */
export const readObjectPage = (
  client: ClickHouseClient,
  feedId: string,
  { after, ids, versions, ...options }: PageOptions,
): Promise<StoredObject[]> =>
  run(client, page, { feedId, ...after, ...options, ids: [...ids], versions: [...versions] });
