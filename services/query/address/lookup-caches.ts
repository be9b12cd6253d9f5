import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { NetworksCache } from "./benign-networks.ts";

/** Copies in memory of what lookups join to the rows of the store. */
export type LookupCaches = {
  readonly catalogue: Pick<TagCatalogue, "byId" | "ageSeconds" | "refresh">;
  readonly networks: Pick<NetworksCache, "current" | "ageSeconds" | "refresh">;
};

/** API: a changed tag or list shows within this time. */
export const MAX_CACHE_AGE_SECONDS = 5;

/** Polls are late when the store is busy, and fail when it is away; then the answer has to wait, or fail, too. */
export async function refreshOutdated({ catalogue, networks }: LookupCaches): Promise<void> {
  const outdated = [catalogue, networks].filter((cache) => cache.ageSeconds() > MAX_CACHE_AGE_SECONDS);
  await Promise.all(outdated.map((cache) => cache.refresh()));
}
