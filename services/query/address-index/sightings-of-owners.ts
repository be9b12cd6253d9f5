import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type SightingsCache, type SightingsCacheOptions, startSightingsCache } from "./sightings-cache.ts";

/**
 * The sightings of all servers that own rows as one cache. Each server's are loaded and refreshed by themselves: the
 * numbers of blocks, from which changes are read on, are its own.
 * @param clients one for each owner: see `owners`.
 * @param ownerOf the index of an address's owner.
 */
export function startSightings(
  clients: readonly ClickHouseClient[],
  ownerOf: (address: number) => number,
  optionsFor: (client: ClickHouseClient) => SightingsCacheOptions,
): SightingsCache {
  const caches = clients.map((client) => startSightingsCache(client, optionsFor(client)));
  // With one server there is nothing to divide or to add up.
  const [only, ...others] = caches;
  if (only !== undefined && others.length === 0) return only;
  const state = () => {
    const states = new Set(caches.map((cache) => cache.state()));
    return states.has("too-large") ? "too-large" : states.has("loading") ? "loading" : "loaded";
  };
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  return {
    find: (address) => caches[ownerOf(address)]?.find(address),
    severitiesOf(addresses, since) {
      const severities = new Uint8Array(addresses.length);
      const indexes = caches.map((): number[] => []);
      for (const [index, address] of addresses.entries()) indexes[ownerOf(address)]?.push(index);
      for (const [owner, cache] of caches.entries()) {
        const ofOwner = indexes[owner] ?? [];
        const found = cache.severitiesOf(
          Uint32Array.from(ofOwner, (index) => addresses[index] ?? 0),
          since,
        );
        for (const [at, index] of ofOwner.entries()) severities[index] = found[at] ?? 0;
      }
      return severities;
    },
    *visit(from, visitor) {
      for (const cache of caches) yield* cache.visit(from, visitor);
    },
    record: (address, severity, lastSeen) => caches[ownerOf(address)]?.record(address, severity, lastSeen),
    isCurrent: () => caches.every((cache) => cache.isCurrent()),
    state,
    // An index that is too large on one server is not used at all, and has no age.
    ageSeconds: () => (state() === "too-large" ? 0 : Math.max(...caches.map((cache) => cache.ageSeconds()))),
    size: () => sum(caches.map((cache) => cache.size())),
    bytes: () => sum(caches.map((cache) => cache.bytes())),
    stop: async () => void (await Promise.all(caches.map((cache) => cache.stop()))),
  };
}
