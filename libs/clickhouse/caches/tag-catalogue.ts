import type { ClickHouseClient } from "../client/client.ts";
import { type CataloguedTag, tagRecords } from "../tags/tags.ts";
import type { PollingOptions } from "./polling-cache.ts";
import { openRecordsCache } from "./records-cache.ts";

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
  const read = async () => {
    const tags = await tagRecords.read(client);
    return {
      tags,
      byId: new Map(tags.map((tag) => [tag.id, tag])),
      bySlug: new Map(tags.map((tag) => [tag.slug, tag])),
      kinds: new Set(tags.map(() => "tag")),
    };
  };
  const { current, refresh, ageSeconds, stop } = await openRecordsCache(client, [tagRecords.table], read, options);
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
