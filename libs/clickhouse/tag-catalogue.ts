import type { ClickHouseClient } from "@clickhouse/client";
import type { Tag } from "@noisefloor/domain/tag.ts";
import { readTags, readTagsVersion } from "./tables/tags.ts";

/** The tags as they stood a moment ago, in memory. */
export type TagCatalogue = {
  /** In order of their slugs. */
  all(): readonly Tag[];
  /** By UUID, either case. */
  byId(id: string): Tag | undefined;
  /** By UUID or slug, as sensors name them. */
  resolve(reference: string): Tag | undefined;
  /** Reads the catalogue again if it has changed. */
  refresh(): Promise<void>;
  stop(): void;
};

/**
 * Reads the catalogue and keeps it up to date, so that a change made anywhere shows here within about a second.
 * While the server cannot be asked, the last known tags go on answering and `onError` hears why.
 */
export async function watchTags(
  client: ClickHouseClient,
  options: { intervalMs?: number; onError?: (error: unknown) => void } = {},
): Promise<TagCatalogue> {
  let version: string | undefined;
  let tags: readonly Tag[] = [];
  let byId = new Map<string, Tag>();
  let bySlug = new Map<string, Tag>();
  let refreshing: Promise<void> | undefined;

  const load = async () => {
    const current = await readTagsVersion(client);
    if (current === version) return;
    tags = await readTags(client);
    byId = new Map(tags.map((tag) => [tag.id, tag]));
    bySlug = new Map(tags.map((tag) => [tag.slug, tag]));
    version = current;
  };
  const refresh = () => {
    refreshing ??= load().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  };

  await refresh();
  const timer = setInterval(() => refresh().catch(options.onError ?? (() => {})), options.intervalMs ?? 1_000);
  timer.unref();
  return {
    all: () => tags,
    byId: (id) => byId.get(id.toLowerCase()),
    resolve: (reference) => bySlug.get(reference) ?? byId.get(reference.toLowerCase()),
    refresh,
    stop: () => clearInterval(timer),
  };
}
