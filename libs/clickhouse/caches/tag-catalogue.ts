import type { ClickHouseClient } from "../client/client.ts";
import { readStoreIdentity } from "../client/store-identity.ts";
import { type CataloguedTag, readTags, readTagsVersion } from "../tags/tags.ts";
import { openPollingCache, type PollingOptions } from "./polling-cache.ts";

/** The tag catalogue, kept in memory and refreshed by polling. */
export type TagCatalogue = {
  /** In order of their slugs. */
  all(): readonly CataloguedTag[];
  /** By UUID, either case. */
  byId(id: string): CataloguedTag | undefined;
  /** By UUID or slug, as sensors name them. */
  resolve(reference: string): CataloguedTag | undefined;
  /** Reads the catalogue again if it has changed. @param signal ends the wait for a store that does not answer. */
  refresh(signal?: AbortSignal): Promise<void>;
  /** Seconds since it was last known to be up to date. */
  ageSeconds(): number;
  stop(): void;
};

/** Reads the catalogue and keeps it up to date. */
export async function openTagCatalogue(client: ClickHouseClient, options: PollingOptions = {}): Promise<TagCatalogue> {
  const { current, refresh, ageSeconds, stop } = await openPollingCache(
    () => readTagsVersion(client),
    async () => {
      const tags = await readTags(client);
      return {
        tags,
        byId: new Map(tags.map((tag) => [tag.id, tag])),
        bySlug: new Map(tags.map((tag) => [tag.slug, tag])),
      };
    },
    {
      ...options,
      tables: ["tags"],
      lossy: { isEmpty: ({ tags }) => tags.length === 0, readIdentity: () => readStoreIdentity(client) },
    },
  );
  const byId = (id: string) => current().byId.get(id.toLowerCase());
  return {
    all: () => current().tags,
    byId,
    resolve: (reference) => current().bySlug.get(reference) ?? byId(reference),
    refresh,
    ageSeconds,
    stop,
  };
}
