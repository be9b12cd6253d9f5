import type { News } from "@noisefloor/clickhouse/watches/news.ts";
import { ipv4ToNumber, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import type { LookupDeps } from "../../address/store-lookup.ts";
import { describeAddresses, nameSome } from "./describe-addresses.ts";
import { type Finding, type IsTold, scopeNames, type Watching } from "./kind.ts";

type NetworkWatching = Watching<"network_seen">;
type Watched = NetworkWatching & { readonly names: ReadonlySet<string> };

/** Finds the watches of an address in a few steps, however many networks there are. */
export type WatchedNetworks = {
  find(address: number): readonly Watched[];
  /** The smallest network of a watch that has an address. */
  networkOf(watch: Watch, address: number): string | undefined;
};

export function indexNetworks(watching: readonly NetworkWatching[]): WatchedNetworks {
  /** By the length of the prefix, the longest first, then by its first address. */
  const byLength = new Map<number, Map<number, Map<string, { readonly watched: Watched; readonly network: string }>>>();
  for (const each of watching) {
    const watched = { ...each, names: scopeNames(each.scopes) };
    for (const network of each.watch.on.networks) {
      const parsed = parseNetwork(network);
      if (typeof parsed === "string") continue;
      const ofLength = byLength.get(parsed.length) ?? new Map();
      const ofNetwork = ofLength.get(parsed.first) ?? new Map();
      ofNetwork.set(each.watch.id, { watched, network });
      byLength.set(parsed.length, ofLength.set(parsed.first, ofNetwork));
    }
  }
  const lengths = [...byLength].sort(([one], [other]) => other - one);
  function* around(address: number) {
    for (const [length, networks] of lengths) {
      const first = length === 0 ? 0 : (address & (-1 << (32 - length))) >>> 0;
      const found = networks.get(first);
      if (found !== undefined) yield found;
    }
  }
  return {
    find(address) {
      const found = new Map<string, Watched>();
      for (const networks of around(address)) for (const [id, { watched }] of networks) found.set(id, watched);
      return [...found.values()];
    },
    networkOf(watch, address) {
      for (const networks of around(address)) {
        const found = networks.get(watch.id);
        if (found !== undefined) return found.network;
      }
      return undefined;
    },
  };
}

/** The watched addresses of which observations were stored, that were not told of. */
export function findInNetworks(
  news: readonly News[],
  networks: WatchedNetworks,
  isTold: IsTold,
  deps: LookupDeps,
): Finding[] {
  const found = new Map<string, { watched: Watched; subjects: Map<number, number> }>();
  for (const { scopes, addresses, observed, received } of news) {
    for (const [index, address] of addresses.entries()) {
      for (const watched of networks.find(address)) {
        const { watch, names } = watched;
        const at = observed[index] ?? 0;
        const isSince = (received[index] ?? 0) >= Math.floor(watch.sinceAt / 1_000);
        if (!isSince || !names.has(scopes[index] ?? "") || isTold(watch, address, at)) continue;
        const ofWatch = found.get(watch.id) ?? { watched, subjects: new Map() };
        found.set(watch.id, ofWatch);
        ofWatch.subjects.set(address, Math.max(at, ofWatch.subjects.get(address) ?? 0));
      }
    }
  }
  return [...found.values()].map(({ watched: { watch, scopes }, subjects }) => ({
    watch,
    subjects,
    async describe(signal) {
      const { addresses, names } = await describeAddresses(subjects, scopes, deps, signal);
      const listed = addresses.map((address) => ({
        ...address,
        network: networks.networkOf(watch, ipv4ToNumber(address.ip)) ?? "",
      }));
      const [first] = listed;
      const what =
        subjects.size === 1
          ? `${first?.ip} of the watched network ${first?.network} was seen`
          : `${subjects.size} addresses of watched networks were seen, ${first?.ip} among them`;
      return {
        type: "network_seen" as const,
        summary: `${what}${names.length === 0 ? "" : `: ${nameSome(names)}`}`,
        data: { count: subjects.size, truncated: subjects.size > listed.length, addresses: listed },
      };
    },
  }));
}
