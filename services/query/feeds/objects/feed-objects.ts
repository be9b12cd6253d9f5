import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  isErased,
  readChangedObjects,
  readObjectsOf,
  type StoredObject,
} from "@noisefloor/clickhouse/feeds/objects.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { AddressChanges } from "@noisefloor/domain/feeds/address-changes.ts";
import type { FeedObject, FeedObjects } from "../feed-content.ts";

export type ObjectDeps = {
  readonly client: ClickHouseClient;
  /** The base of links, without a trailing slash. */
  readonly publicUrl: string;
};

const OBJECTS_PER_QUERY = 5_000;

export function toFeedObject(stored: StoredObject, publicUrl: string): FeedObject {
  const ip = numberToIpv4(stored.address);
  return {
    id: stored.id,
    ip,
    link: `${publicUrl}/ip/${ip}`,
    createdAt: new Date(stored.createdAt),
    modifiedAt: new Date(stored.modifiedAt),
    firstSeen: new Date(stored.firstSeen * 1_000),
    lastSeen: new Date(stored.lastSeen * 1_000),
    validUntil: new Date(stored.validUntil * 1_000),
    classification: stored.classification,
    tags: stored.tags,
    isErased: isErased(stored),
    isRevoked: stored.isRevoked,
  };
}

/** The objects of a list that has been synchronised. A newer list may have revoked one meanwhile: here it is listed. */
export async function* objectsOfList(feedId: string, addresses: Uint32Array, deps: ObjectDeps): FeedObjects {
  for await (const objects of storedObjects(feedId, addresses, deps.client)) {
    yield objects.map((object) => ({ ...toFeedObject(object, deps.publicUrl), isRevoked: false }));
  }
}

/**
 * The objects of such a list that have changed: those of added and of removed addresses, and those with a new version.
 * @param since when the earlier list was made, in milliseconds since 1970 UTC.
 */
export async function* changedObjects(
  feedId: string,
  addresses: Uint32Array,
  { added, removed }: AddressChanges,
  since: number,
  deps: ObjectDeps,
): FeedObjects {
  const changed = await readChangedObjects(deps.client, feedId, since);
  const listed = new Set(addresses);
  const mentioned = new Set([...changed.filter((address) => listed.has(address)), ...added, ...removed]);
  for await (const objects of storedObjects(feedId, Uint32Array.from(mentioned).sort(), deps.client)) {
    yield objects.map((object) => ({
      ...toFeedObject(object, deps.publicUrl),
      isRevoked: !listed.has(object.address),
    }));
  }
}

async function* storedObjects(feedId: string, addresses: Uint32Array, client: ClickHouseClient) {
  for (let start = 0; start < addresses.length; start += OBJECTS_PER_QUERY) {
    yield await readObjectsOf(client, feedId, Array.from(addresses.subarray(start, start + OBJECTS_PER_QUERY)));
  }
}
