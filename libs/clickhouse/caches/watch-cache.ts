import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { watchDefinitions } from "../watches/definitions.ts";
import type { PollingOptions, RefreshedCache } from "./polling-cache.ts";
import { openRecordsCache } from "./records-cache.ts";

/** The watches of all workspaces, kept in memory and refreshed by polling. */
export type WatchCache = RefreshedCache & {
  /** The same array until one changes. */
  all(): readonly Watch[];
  byId(id: string): Watch | undefined;
  ofWorkspace(workspaceId: string): readonly Watch[];
};

export async function openWatchCache(client: ClickHouseClient, options: PollingOptions = {}): Promise<WatchCache> {
  const read = async () => {
    const watches = await watchDefinitions.read(client);
    return { watches, byId: new Map(watches.map((watch) => [watch.id, watch])), kinds: new Set<string>() };
  };
  const { current, ...cache } = await openRecordsCache(client, [watchDefinitions.table], read, options);
  return {
    ...cache,
    all: () => current().watches,
    byId: (id) => current().byId.get(id),
    ofWorkspace: (workspaceId) => current().watches.filter((watch) => watch.workspaceId === workspaceId),
  };
}
