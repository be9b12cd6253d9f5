import { type AccessCache, openAccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import { openTagCatalogue, type TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { cacheBenignNetworks, type NetworksCache } from "@noisefloor/query/address/benign-networks.ts";

/** What services keep of a store in memory. */
export type Caches = {
  readonly catalogue: TagCatalogue;
  readonly networks: NetworksCache;
  readonly accessCache: AccessCache;
};

/** Longer than any test: the caches do not poll. */
export const NEVER_MS = 86_400_000;

/** @param kept those that are open already. */
export async function openCaches(
  client: ClickHouseClient,
  intervalMs: number,
  kept: Partial<Caches> = {},
): Promise<Caches> {
  const polling = { intervalMs };
  const [catalogue, networks, accessCache] = await Promise.all([
    kept.catalogue ?? openTagCatalogue(client, polling),
    kept.networks ?? cacheBenignNetworks(client, polling),
    kept.accessCache ?? openAccessCache(client, polling),
  ]);
  return { catalogue, networks, accessCache };
}

export function stopCaches(caches: Partial<Caches>): void {
  for (const cache of Object.values(caches)) cache.stop();
}

/**
 * Tells the caches that have read something new since this call from those that still hold what they held.
 * @param key of a caller whom the access cache knows.
 * @returns a function that stops the former and returns the latter.
 */
export function watchCaches(caches: Caches, key: string): () => Partial<Caches> {
  const { catalogue, networks, accessCache } = caches;
  // A cache that reads its tables again makes other objects, also of the same content.
  const [tags, ranges, caller] = [catalogue.all(), networks.current(), accessCache.callerOf(key)];
  return () => {
    const unchanged: Partial<Caches> = {
      ...(catalogue.all() === tags ? { catalogue } : {}),
      ...(networks.current() === ranges ? { networks } : {}),
      ...(accessCache.callerOf(key) === caller ? { accessCache } : {}),
    };
    stopCaches({
      ...(unchanged.catalogue ? {} : { catalogue }),
      ...(unchanged.networks ? {} : { networks }),
      ...(unchanged.accessCache ? {} : { accessCache }),
    });
    return unchanged;
  };
}
