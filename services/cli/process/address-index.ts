import { watchTableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { LoadingError } from "@noisefloor/http/health.ts";
import type { ObservationRow } from "@noisefloor/ingest/rows/observation-row.ts";
import type { AddressIndex } from "@noisefloor/query/address-index/ask-index.ts";
import type { SightingsCache } from "@noisefloor/query/address-index/sightings-cache.ts";
import { startSightings } from "@noisefloor/query/address-index/sightings-of-owners.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { Cache, Caches } from "./caches.ts";
import { recordRows } from "./record-rows.ts";
import type { ServiceContext } from "./service-context.ts";

export type OpenAddressIndex = AddressIndex & {
  /** By the names that metrics call them. */
  readonly caches: Readonly<Record<string, Cache>>;
  /** Rejects until the first load has ended. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /** Records rows that this process has stored, so that lookups answer from them before the next poll. */
  record(rows: readonly ObservationRow[]): Promise<void>;
};

/** Opens the index in memory that answers lookups of single addresses, when the role and the settings ask for it. */
export async function openAddressIndex(
  context: ServiceContext,
  client: ClickHouseClient,
  { catalogue, retentionDays, changes }: Pick<Caches, "catalogue" | "retentionDays" | "changes">,
): Promise<OpenAddressIndex | undefined> {
  const { roles, settings, log, metrics, closeStack } = context;
  const limit = settings.lookupIndexAddresses;
  if (!roles.query || limit === 0) return undefined;
  const owners = await client.owners();
  const loaded = new Set<ClickHouseClient>();
  const sightings = startSightings(owners, await client.ownerOf(), (owner) => ({
    limit: Math.ceil(limit / owners.length),
    retentionDays,
    now: Date.now,
    // Each of several owners has parts of its own.
    changes: owner === client ? changes : watchTableChanges(owner),
    onError: (error) => log.warn({ err: error }, "refresh of the address index failed; querying ClickHouse per lookup"),
    onRecovery: () => log.info("refresh of the address index succeeded again"),
    onLoaded: (addresses, seconds) => {
      loaded.add(owner);
      log.info({ addresses, seconds }, "address index loaded");
    },
    onTooLarge: () => {
      loaded.add(owner);
      log.warn({ limit }, "more addresses than LOOKUP_INDEX_ADDRESSES; querying ClickHouse per lookup");
    },
  }));
  closeStack.add(sightings.stop);
  registerIndexMetrics(metrics, sightings);
  return {
    find: sightings.find,
    severitiesOf: sightings.severitiesOf,
    visit: sightings.visit,
    isCurrent: sightings.isCurrent,
    caches: { addresses: sightings },
    checks: {
      addresses: async () => {
        if (loaded.size < owners.length) throw new LoadingError("the address index is being loaded");
      },
    },
    record: (rows) => recordRows(rows, sightings, catalogue),
  };
}

function registerIndexMetrics(metrics: Pick<Metrics, "gauge">, sightings: SightingsCache): void {
  metrics.gauge("noisefloor_address_index_entries", "Addresses in memory, once per severity", sightings.size);
  metrics.gauge("noisefloor_address_index_bytes", "Memory that the addresses take", sightings.bytes);
  metrics.gauge(
    "noisefloor_address_index_up",
    "1 while single lookups are answered from memory, 0 while ClickHouse is asked",
    () => (sightings.isCurrent() ? 1 : 0),
  );
}
