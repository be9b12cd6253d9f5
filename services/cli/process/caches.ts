import { type AccessCache, openAccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { PollingOptions } from "@noisefloor/clickhouse/caches/polling-cache.ts";
import { openRetentionCache } from "@noisefloor/clickhouse/caches/retention-cache.ts";
import { type TableChanges, watchTableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import { openTagCatalogue, type TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { openWatchCache, type WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { cacheBenignNetworks, type NetworksCache } from "@noisefloor/query/address/benign-networks.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import type { ServiceContext } from "./service-context.ts";

/** A copy in memory that polling keeps up to date. */
export type Cache = { ageSeconds(): number };

export type Caches = {
  readonly catalogue: TagCatalogue;
  readonly retentionDays: () => number;
  readonly access: AccessCache;
  /** Undefined without the query service. */
  readonly networks: NetworksCache | undefined;
  /** Likewise. */
  readonly watches: WatchCache | undefined;
  /** Each cache by its name in metrics. */
  readonly byName: ReadonlyMap<string, Cache>;
  /** The changes on the server that the caches are read from. */
  readonly changes: TableChanges;
};

/** Opens the polling caches that the roles need. */
export async function openCaches(context: ServiceContext, client: ClickHouseClient): Promise<Caches> {
  const { roles, log, closeStack } = context;
  const byName = new Map<string, Cache>();
  const changes = watchTableChanges(client);
  const open = async <T extends Cache & { stop(): void }>(
    name: string,
    openCache: (client: ClickHouseClient, options: PollingOptions) => Promise<T>,
  ): Promise<T> => {
    const cache = await openCache(client, { changes, ...logRefreshes(name, log) });
    closeStack.add(cache.stop);
    byName.set(name, cache);
    return cache;
  };
  const catalogue = await open("tags", openTagCatalogue);
  const retention = await open("retention", openRetentionCache);
  const access = await open("keys", openAccessCache);
  const networks = roles.query ? await open("networks", cacheBenignNetworks) : undefined;
  const watches = roles.query ? await open("watches", openWatchCache) : undefined;
  return { catalogue, watches, retentionDays: retention.current, access, networks, byName, changes };
}

type RefreshEvents = { readonly onError: (error: unknown) => void; readonly onRecovery: () => void };

/** Logs the first refresh of a cache that fails, and the first that succeeds again. */
export function logRefreshes(cache: string, log: Logger): RefreshEvents {
  return {
    onError: (error) => log.warn({ err: error, cache }, "refresh failed; serving cached data"),
    onRecovery: () => log.info({ cache }, "refresh succeeded again"),
  };
}
