import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { retentionStart } from "@noisefloor/domain/time/window.ts";
import { type LookupDeps, lookUpMany } from "../../address/store-lookup.ts";
import { inOrder } from "../../in-order.ts";
import type { FeedItem } from "../feed-content.ts";
import { feedItems } from "./queries.ts";

/** How many addresses of a form are read and written together. */
const ADDRESSES_PER_QUERY = 5_000;
/** The store reads the next ones while a block is written. */
const BLOCKS_AT_ONCE = 2;

/**
 * Reads what forms say of addresses, in blocks in their order. Every address has an item, also one whose observations
 * have left the store since the list was made.
 * @param asOf milliseconds since 1970 UTC: when an address of which nothing is stored was last known to be seen.
 */
export function readItems(
  addresses: Uint32Array,
  asOf: number,
  deps: LookupDeps,
  signal: AbortSignal,
): AsyncGenerator<FeedItem[]> {
  const since = retentionStart(deps.now(), deps.retentionDays());
  const readBlock = async (block: number): Promise<FeedItem[]> => {
    signal.throwIfAborted();
    const start = block * ADDRESSES_PER_QUERY;
    const part = Array.from(addresses.subarray(start, start + ADDRESSES_PER_QUERY));
    const ips = part.map(numberToIpv4);
    const [records, rows] = await Promise.all([
      lookUpMany(ips, [GLOBAL_SCOPE], deps, signal),
      deps.read(feedItems, { ips, scopes: [GLOBAL_SCOPE], since }, signal),
    ]);
    const rowOf = new Map(rows.map((row) => [row.address, row]));
    return part.map((address, index): FeedItem => {
      const ip = ips[index] ?? "";
      const noise = records.get(ip)?.noise;
      const row = rowOf.get(address);
      return {
        ip,
        isGone: noise === undefined,
        firstSeen: new Date(row?.firstSeen ?? asOf),
        lastSeen: new Date(noise?.lastSeen ?? asOf),
        classification: noise?.classification ?? "unknown",
        tags: (noise?.tagIds ?? []).flatMap((id) => deps.catalogue.byId(id)?.slug ?? []).sort(),
        asn: row?.asn ?? 0,
        organization: row?.organization ?? "",
        country: row?.country ?? "",
      };
    });
  };
  const blocks = Array.from({ length: Math.ceil(addresses.length / ADDRESSES_PER_QUERY) }, (_, block) => block);
  return inOrder(blocks, BLOCKS_AT_ONCE, readBlock);
}
