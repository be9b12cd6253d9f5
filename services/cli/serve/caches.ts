import { type AccessDirectory, watchAccess } from "@noisefloor/clickhouse/access-directory.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import { watchRetention } from "@noisefloor/clickhouse/retention.ts";
import { type SensorDirectory, watchSensors } from "@noisefloor/clickhouse/sensor-directory.ts";
import { type TagCatalogue, watchTags } from "@noisefloor/clickhouse/tag-catalogue.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import type { ServiceContext } from "./service-context.ts";

/** A copy in memory that polling keeps up to date. */
export type Cache = { ageSeconds(): number };

export type Caches = {
  readonly catalogue: TagCatalogue;
  readonly retentionDays: () => number;
  /** Of the intake. */
  readonly sensors: SensorDirectory | undefined;
  /** Of the query service. */
  readonly access: AccessDirectory | undefined;
  /** By the names that metrics call them. */
  readonly byName: ReadonlyMap<string, Cache>;
};

/** Opens the polling caches that the roles need. */
export async function openCaches(context: ServiceContext, client: ClickHouseClient): Promise<Caches> {
  const { roles, log, closeStack } = context;
  const byName = new Map<string, Cache>();
  const open = async <T extends Cache & { stop(): void }>(
    name: string,
    openCache: (client: ClickHouseClient, options: RefreshEvents) => Promise<T>,
  ): Promise<T> => {
    const cache = await openCache(client, logRefreshes(name, log));
    closeStack.add(cache.stop);
    byName.set(name, cache);
    return cache;
  };
  const catalogue = await open("tags", watchTags);
  const retention = await open("retention", watchRetention);
  const sensors = roles.ingest ? await open("sensors", watchSensors) : undefined;
  const access = roles.query ? await open("keys", watchAccess) : undefined;
  return { catalogue, retentionDays: retention.current, sensors, access, byName };
}

type RefreshEvents = { readonly onError: (error: unknown) => void; readonly onRecovery: () => void };

/** Logs the first refresh of a cache that fails, and the first that succeeds again. */
export function logRefreshes(cache: string, log: Logger): RefreshEvents {
  return {
    onError: (error) => log.warn({ err: error, cache }, "refresh failed; serving cached data"),
    onRecovery: () => log.info({ cache }, "refresh succeeded again"),
  };
}
