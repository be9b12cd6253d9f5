import type { PollingOptions } from "@noisefloor/clickhouse/caches/polling-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { INTENTIONS } from "@noisefloor/domain/classification.ts";
import { ipv4ToNumber } from "@noisefloor/domain/ipv4.ts";
import { LoadingError } from "@noisefloor/http/health.ts";
import type { ObservationRow } from "@noisefloor/ingest/observation-row.ts";
import { cacheBenignNetworks } from "@noisefloor/query/address-index/benign-networks.ts";
import type { AddressIndex } from "@noisefloor/query/address-index/memory-lookup.ts";
import { startSightingsCache } from "@noisefloor/query/address-index/sightings-cache.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";

export type OpenAddressIndex = AddressIndex & {
  /** By the name that metrics call them. */
  readonly caches: Readonly<Record<string, { ageSeconds(): number }>>;
  /** Rejects until everything was read for the first time. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /** To be called with what this process has stored: it shows at once, not when it is read again. */
  onStored(rows: readonly ObservationRow[]): void;
  stop(): Promise<void>;
};

export type AddressIndexOptions = {
  readonly client: ClickHouseClient;
  readonly catalogue: TagCatalogue;
  readonly limit: number;
  readonly retentionDays: () => number;
  readonly now: () => number;
  readonly metrics: Pick<Metrics, "gauge">;
  readonly log: Logger;
  /** What is logged when something cannot be read. */
  readonly logFailures: (what: string) => PollingOptions;
};

/** Keeps all that single lookups are answered from in this process's memory. */
export async function openAddressIndex(options: AddressIndexOptions): Promise<OpenAddressIndex> {
  const { client, catalogue, limit, metrics, log, logFailures } = options;
  const networks = await cacheBenignNetworks(client, logFailures("the networks of benign services and actors"));
  let wasLoaded = false;
  const sightings = startSightingsCache(client, {
    ...options,
    onError: (error) => log.warn({ err: error }, "the address index cannot be read; asking ClickHouse at each lookup"),
    onRecovery: () => log.info("the address index can be read again"),
    onLoaded: (addresses, seconds) => {
      wasLoaded = true;
      log.info({ addresses, seconds }, "address index loaded");
    },
    onTooLarge: () => {
      wasLoaded = true;
      log.warn({ limit }, "more addresses than LOOKUP_INDEX_ADDRESSES; asking ClickHouse at each lookup");
    },
  });
  metrics.gauge("noisefloor_address_index_entries", "Addresses in memory, once per severity", sightings.size);
  metrics.gauge("noisefloor_address_index_bytes", "Memory that the addresses take", sightings.bytes);
  metrics.gauge(
    "noisefloor_address_index_up",
    "1 while single lookups are answered from memory, 0 while ClickHouse is asked",
    () => (sightings.isCurrent() ? 1 : 0),
  );
  return {
    sightings,
    networks,
    caches: { networks, addresses: sightings },
    checks: {
      addresses: async () => {
        if (!wasLoaded) throw new LoadingError("the address index is being loaded");
      },
    },
    onStored(rows) {
      for (const row of rows) {
        if (row.dataset !== "global") continue;
        const lastSeen = Date.parse(`${row.observed_at.replace(" ", "T")}Z`);
        sightings.record(ipv4ToNumber(row.source_ip), severityOf(row.tags, catalogue), lastSeen);
      }
    },
    async stop() {
      networks.stop();
      await sightings.stop();
    },
  };
}

/** The worst intention of some tags, from 1; 0 when none of them is in the catalogue. */
function severityOf(tagIds: readonly string[], catalogue: TagCatalogue): number {
  let severity = 0;
  for (const id of tagIds) {
    const tag = catalogue.byId(id);
    if (tag !== undefined) severity = Math.max(severity, INTENTIONS.indexOf(tag.intention) + 1);
  }
  return severity;
}
