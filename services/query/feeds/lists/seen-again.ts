import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { namedSince } from "./callback-queries.ts";
import type { FeedState } from "./feed-state.ts";
import { seenSince } from "./queries.ts";

/** For how long before the last look a sighting may be stored late, and still be noticed by the next one. */
const LATE_MS = HOUR_MS;
const hourOf = (time: number) => Math.floor(time / HOUR_MS);

/**
 * The addresses of a feed that were seen, or named as callbacks, after their version was made. They get at most one an hour: the first refresh in
 * an hour looks for them.
 * @param addresses that the feed lists now.
 * @param now milliseconds since 1970 UTC.
 */
export async function readSeenAgain(
  { of }: Pick<Feed, "of">,
  { head, ...before }: FeedState,
  addresses: Uint32Array,
  now: number,
  { read }: { readonly read: Read },
  signal: AbortSignal,
): Promise<Uint32Array> {
  const hour = hourOf(now);
  // A refresh has looked in each hour in which there was one.
  const looked = hourOf(head.refreshedAt);
  if (looked >= hour) return new Uint32Array();
  const from = looked * HOUR_MS - LATE_MS;
  const seen = new Map<number, number>();
  for (const block of await read(
    of === "callbacks" ? namedSince : seenSince,
    { scopes: [GLOBAL_SCOPE], from },
    signal,
  )) {
    for (const [index, address] of block.address.entries()) seen.set(address, block.seen[index] ?? 0);
  }
  let index = 0;
  return addresses.filter((address) => {
    while ((before.addresses[index] ?? address) < address) index++;
    const version = before.versions[index] ?? 0;
    const isOfEarlierHour = hourOf(version * 1_000) < hour;
    return before.addresses[index] === address && isOfEarlierHour && (seen.get(address) ?? 0) > version;
  });
}
