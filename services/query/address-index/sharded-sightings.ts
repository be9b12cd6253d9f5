import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type SightingsCache, type SightingsCacheOptions, startSightingsCache } from "./sightings-cache.ts";

/**
 * The sightings of all shards as one cache. Each shard's are loaded and refreshed by itself, as the numbers of blocks,
 * from which changes are read on, belong to a shard.
 * @param clients one for each shard, of it alone.
 * @param shardOf the index of an address's shard.
 */
export function startSightings(
  clients: readonly ClickHouseClient[],
  shardOf: (address: number) => number,
  optionsFor: (client: ClickHouseClient) => SightingsCacheOptions,
): SightingsCache {
  const caches = clients.map((client) => startSightingsCache(client, optionsFor(client)));
  const [only, ...others] = caches;
  if (only !== undefined && others.length === 0) return only;
  const state = () => {
    const states = new Set(caches.map((cache) => cache.state()));
    return states.has("too-large") ? "too-large" : states.has("loading") ? "loading" : "loaded";
  };
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  return {
    find: (address) => caches[shardOf(address)]?.find(address),
    severitiesOf(addresses, since) {
      const severities = new Uint8Array(addresses.length);
      for (const [shard, cache] of caches.entries()) {
        const places = new Uint32Array(addresses.length).map((_, place) => place);
        const own = places.filter((place) => shardOf(addresses[place] ?? 0) === shard);
        const found = cache.severitiesOf(
          own.map((place) => addresses[place] ?? 0),
          since,
        );
        for (const [index, place] of own.entries()) severities[place] = found[index] ?? 0;
      }
      return severities;
    },
    *visit(from, visitor) {
      for (const cache of caches) yield* cache.visit(from, visitor);
    },
    record: (address, severity, lastSeen) => caches[shardOf(address)]?.record(address, severity, lastSeen),
    isCurrent: () => caches.every((cache) => cache.isCurrent()),
    state,
    // What one shard has too much of is read from none: an index that is not used has no age.
    ageSeconds: () => (state() === "too-large" ? 0 : Math.max(...caches.map((cache) => cache.ageSeconds()))),
    size: () => sum(caches.map((cache) => cache.size())),
    bytes: () => sum(caches.map((cache) => cache.bytes())),
    stop: async () => void (await Promise.all(caches.map((cache) => cache.stop()))),
  };
}
