import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { RefreshHead } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { readRemovedAddresses } from "@noisefloor/clickhouse/feeds/removed-addresses.ts";
import { changesBetween, nameChangesBetween } from "@noisefloor/domain/feeds/address-changes.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { type FeedState, sizeOfList } from "./feed-state.ts";
import type { FoundHosts } from "./search-feed.ts";

/** The mark of a list that lost half of its hosts or more at one refresh. */
type Fall = Pick<RefreshHead, "fellFrom" | "fellAt">;
type Marked = Fall & Pick<RefreshHead, "kept">;

const NO_FALL: Fall = { fellFrom: 0, fellAt: 0 };

/**
 * The mark of a list after a refresh: until it has recovered, for a day at most.
 * @param known the list before. While addresses of it are kept, it falls no further.
 * @param before how many addresses it had, without those that a guard or a removal has taken from it since.
 * @param count how many are found now, at a time in milliseconds since 1970 UTC.
 */
export function fallOf({ kept, fellFrom, fellAt }: Marked, before: number, count: number, at: number): Fall {
  const isFallen = count * 2 <= fellFrom && Math.abs(at - fellAt) < DAY_MS;
  if (kept === 0 && before > 0 && count * 2 <= before) {
    return { fellFrom: Math.max(before, isFallen ? fellFrom : 0), fellAt: at };
  }
  return isFallen && fellFrom > 0 ? { fellFrom, fellAt } : NO_FALL;
}

/** Whether a feed still keeps the addresses of before a fall. The clock may have been set back. */
const isKeeping = ({ keepsFallen }: Pick<Feed, "keepsFallen">, { fellFrom, fellAt }: Fall, at: number) =>
  keepsFallen && fellFrom > 0 && Math.abs(at - fellAt) < HOUR_MS;

/**
 * What a feed lists of what it found: with the addresses that it keeps for an hour after a fall, none of which is guarded
 * or was removed.
 * @param stored the list before; undefined if it is not one of this definition.
 * Those of callbacks keep none.
 * @param leaveOutGuarded leaves the guarded ones of some addresses out.
 */
export async function keepFallen<Found extends Pick<FoundHosts, "addresses" | "names" | "isTruncated">>(
  feed: Feed,
  stored: Pick<FeedState, "head" | "addresses" | "names"> | undefined,
  found: Found,
  at: number,
  deps: {
    readonly client: ClickHouseClient;
    readonly leaveOutGuarded: (addresses: Uint32Array) => Promise<Pick<FoundHosts, "addresses">>;
    readonly isHeldBack: (name: string) => boolean;
  },
): Promise<Found & Marked> {
  const count = sizeOfList(found);
  if (stored === undefined || count * 2 > Math.max(sizeOfList(stored), stored.head.fellFrom)) {
    return { ...found, kept: 0, ...NO_FALL };
  }
  const removed = await readRemovedAddresses(deps.client);
  const gone = changesBetween(stored.addresses, found.addresses).removed;
  const { addresses: lost } = await deps.leaveOutGuarded(gone.filter((address) => !removed.has(address)));
  const heldBack = nameChangesBetween(stored.names, found.names).removedNames.filter(deps.isHeldBack);
  const before = sizeOfList(stored) - gone.length + lost.length - heldBack.length;
  const fall = fallOf(stored.head, before, count, at);
  if (!isKeeping(feed, fall, at)) return { ...found, kept: 0, ...fall };
  const kept = lost.subarray(0, Math.max(0, feed.limit - count));
  const addresses = new Uint32Array(count + kept.length);
  addresses.set(found.addresses);
  addresses.set(kept, count);
  const isTruncated = found.isTruncated || kept.length < lost.length;
  return { ...found, ...fall, addresses: addresses.sort(), isTruncated, kept: kept.length };
}
