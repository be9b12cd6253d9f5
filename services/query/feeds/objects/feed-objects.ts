import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readFirstListed } from "@noisefloor/clickhouse/feeds/first-listed.ts";
import { readDepartures, readFirstRefresh } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import {
  type AddressChanges,
  changesBetween,
  type VersionedList,
  versionAt,
} from "@noisefloor/domain/feeds/address-changes.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { indicatorUuidOf } from "@noisefloor/domain/feeds/indicator-id.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { LookupDeps } from "../../address/store-lookup.ts";
import type { FeedObjects } from "../feed-content.ts";
import type { FeedState } from "../lists/feed-state.ts";
import { readItems } from "../lists/items.ts";
import { indexObjects, type ObjectIndex, selectVersions } from "./object-index.ts";

export type ObjectDeps = LookupDeps & {
  readonly client: ClickHouseClient;
  /** The base of links, without a trailing slash. */
  readonly publicUrl: string;
};

/** The addresses that left a feed since a time, in milliseconds since 1970 UTC, for as long as that is stored. */
export async function readRevoked(
  { head, addresses }: FeedState,
  since: number,
  client: ClickHouseClient,
): Promise<VersionedList> {
  const departures = await readDepartures(client, head.feedId, since, head.revisedAt);
  const isRevoked = new Set(changesBetween(departures.addresses, addresses).removed);
  return selectVersions(departures, (address) => isRevoked.has(address));
}

/** The objects that have changed since a list: of added and removed addresses, and those with a new version. */
export async function indexChanges(
  state: FeedState,
  since: string,
  { added, removed }: AddressChanges,
  client: ClickHouseClient,
): Promise<ObjectIndex> {
  const { head } = state;
  const sinceTime = (await readFirstRefresh(client, head.feedId, since))?.revisedAt ?? 0;
  const departures = await readRevoked(state, sinceTime, client);
  const versionOf = new Map(Array.from(departures.addresses, (each, place) => [each, departures.versions[place]]));
  const versions = removed.map((address) => versionOf.get(address) ?? versionAt(head.revisedAt));
  const isAdded = new Set(added);
  const isNew = (address: number, version: number) => version * 1_000 > sinceTime || isAdded.has(address);
  return indexObjects(selectVersions(state, isNew), { addresses: removed, versions });
}

/**
 * Reads what objects say. One of which no observation is stored any more says nothing but its address.
 * @param asOf when these were last known to be seen, in milliseconds since 1970 UTC.
 */
export async function* readObjects(
  index: ObjectIndex,
  { of, ttlHours }: Pick<Feed, "of" | "ttlHours">,
  asOf: number,
  deps: ObjectDeps,
  signal: AbortSignal,
): FeedObjects {
  let place = 0;
  for await (const items of readItems({ of, addresses: index.addresses, names: [] }, asOf, deps, signal)) {
    const created = await readFirstListed(
      deps.client,
      items.map(({ ip }) => ipv4ToNumber(ip)),
    );
    yield items.map(({ ip, isGone = false, firstSeen, lastSeen, classification, tags, spoofable }) => {
      const modifiedAt = (index.versions[place] ?? 0) * 1_000;
      const isRevoked = index.isRevoked[place++] === 1;
      const createdAt = isGone ? modifiedAt : Math.min(modifiedAt, created.get(ipv4ToNumber(ip)) ?? modifiedAt);
      return {
        ...{ id: indicatorUuidOf(ip), ip, link: `${deps.publicUrl}/ip/${ip}` },
        ...{ createdAt: new Date(createdAt), modifiedAt: new Date(modifiedAt) },
        ...{ firstSeen, lastSeen, validUntil: new Date(lastSeen.getTime() + ttlHours * HOUR_MS) },
        ...{ classification, tags, spoofable, isErased: isGone, isRevoked },
      };
    });
  }
}
