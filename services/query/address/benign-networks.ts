import {
  openPollingCache,
  type PollingCache,
  type PollingOptions,
} from "@noisefloor/clickhouse/caches/polling-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type RangeColumns, readNetworksVersion, readRanges } from "@noisefloor/clickhouse/networks/network-ranges.ts";
import { type NetworkKind, readNetworkLists } from "@noisefloor/clickhouse/networks/networks.ts";
import { findRange } from "@noisefloor/domain/address/ranges.ts";
import type { RiotRecord } from "./records.ts";

/** Finds the list in whose networks an address is. */
export type FindList = (address: number) => RiotRecord | undefined;

export type BenignNetworks = {
  readonly service: FindList;
  readonly actor: FindList;
  readonly hasActors: boolean;
  /** All lists by their ids. */
  readonly lists: Readonly<Record<NetworkKind, ReadonlyMap<string, RiotRecord>>>;
};

export type NetworksCache = PollingCache<BenignNetworks>;

/** Opens a polling cache of the networks of benign services and actors. */
export function cacheBenignNetworks(client: ClickHouseClient, options: PollingOptions = {}): Promise<NetworksCache> {
  const read = async (kind: NetworkKind) => {
    const [ranges, lists] = await Promise.all([readRanges(client, kind), readNetworkLists(client, kind)]);
    const byId = new Map(lists.map((list) => [list.listId, list]));
    return { find: createFinder(ranges, byId), lists: byId, isEmpty: ranges.first.length === 0 };
  };
  return openPollingCache(
    () => readNetworksVersion(client),
    async () => {
      const [service, actor] = await Promise.all([read("service"), read("actor")]);
      const lists = { service: service.lists, actor: actor.lists };
      return { service: service.find, actor: actor.find, hasActors: !actor.isEmpty, lists };
    },
    { ...options, tables: ["network_lists", "network_generations", "network_ranges"] },
  );
}

function createFinder(ranges: RangeColumns, lists: ReadonlyMap<string, RiotRecord>): FindList {
  const byNumber = ranges.listIds.map((listId) => lists.get(listId));
  return (address) => {
    const index = findRange(ranges, address);
    return index === undefined ? undefined : byNumber[(ranges.list[index] ?? 0) - 1];
  };
}
