import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { ipv4ToNumber, isIpv4, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { HostList } from "@noisefloor/domain/feeds/address-changes.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { retentionStart } from "@noisefloor/domain/time/window.ts";
import { type LookupDeps, lookUpMany } from "../../address/store-lookup.ts";
import { inOrder } from "../../in-order.ts";
import type { FeedItem } from "../feed-content.ts";
import { callbackItems } from "./callback-queries.ts";
import { feedItems } from "./queries.ts";

/** What a feed lists, as items are read of it. */
export type ListedHosts = Pick<HostList, "addresses" | "names"> & Pick<Feed, "of">;

/** How many hosts of a form are read and written together. */
const HOSTS_PER_QUERY = 5_000;
/** The store reads the next ones while a block is written. */
const BLOCKS_AT_ONCE = 2;

/**
 * Reads what forms say of hosts, in blocks in their order, addresses first. Every host has an item, also one whose
 * observations have left the store since the list was made.
 * @param asOf milliseconds since 1970 UTC: when a host of which nothing is stored was last known to be seen.
 */
export async function* readItems(
  { of, addresses, names }: ListedHosts,
  asOf: number,
  deps: LookupDeps,
  signal: AbortSignal,
): AsyncGenerator<FeedItem[]> {
  const readBlock = of === "callbacks" ? callbackReader(asOf, deps, signal) : visitorReader(asOf, deps, signal);
  const read = (hosts: readonly string[]) => {
    signal.throwIfAborted();
    return readBlock(hosts);
  };
  const startsOf = ({ length }: ArrayLike<unknown>) =>
    Array.from({ length: Math.ceil(length / HOSTS_PER_QUERY) }, (_, block) => block * HOSTS_PER_QUERY);
  const ipsAt = (start: number) => Array.from(addresses.subarray(start, start + HOSTS_PER_QUERY), numberToIpv4);
  yield* inOrder(startsOf(addresses), BLOCKS_AT_ONCE, (start) => read(ipsAt(start)));
  yield* inOrder(startsOf(names), BLOCKS_AT_ONCE, (start) => read(names.slice(start, start + HOSTS_PER_QUERY)));
}

type ReadBlock = (hosts: readonly string[]) => Promise<FeedItem[]>;

/** Of callbacks it is said when, how and by how many visitors they were named, not what they do themselves. */
function callbackReader(asOf: number, deps: LookupDeps, signal: AbortSignal): ReadBlock {
  const since = retentionStart(deps.now(), deps.retentionDays());
  return async (hosts) => {
    const rows = await deps.read(callbackItems, { hosts: [...hosts], scopes: [GLOBAL_SCOPE], since }, signal);
    const rowOf = new Map(rows.map((row) => [row.host, row]));
    return hosts.map((host): FeedItem => {
      const { firstSeen = asOf, lastSeen = asOf, visitors = 0, ports = [], schemes = [] } = rowOf.get(host) ?? {};
      return {
        ip: host,
        isGone: !rowOf.has(host),
        firstSeen: new Date(firstSeen),
        lastSeen: new Date(lastSeen),
        classification: "malicious",
        tags: CALLBACK_TAGS,
        asn: 0,
        organization: "",
        country: "",
        spoofable: false,
        naming: { kind: isIpv4(host) ? "address" : "name", visitors, ports, schemes },
      };
    });
  };
}

/** In the place of tags, which are of visitors. */
const CALLBACK_TAGS = ["callback"];

function visitorReader(asOf: number, deps: LookupDeps, signal: AbortSignal): ReadBlock {
  const since = retentionStart(deps.now(), deps.retentionDays());
  return async (ips) => {
    const [records, rows] = await Promise.all([
      lookUpMany(ips, [GLOBAL_SCOPE], deps, signal),
      deps.read(feedItems, { ips: [...ips], scopes: [GLOBAL_SCOPE], since }, signal),
    ]);
    const rowOf = new Map(rows.map((row) => [row.address, row]));
    return ips.map((ip): FeedItem => {
      const noise = records.get(ip)?.noise;
      const row = rowOf.get(ipv4ToNumber(ip));
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
        spoofable: noise?.isSpoofable ?? false,
      };
    });
  };
}
