import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import type { ServiceContext } from "./service-context.ts";

/** With the interval of polls, no longer than the five seconds within which a revoked key must stop working. */
const POLLING_TIMEOUT_MS = 3_000;
/** The index reads all addresses, a slice at a time. */
const INDEX_TIMEOUT_MS = 60_000;

/** A client for each kind of work, as a large query may take every connection of its client. */
export type Clients = {
  readonly polling: ClickHouseClient;
  readonly lookups: ClickHouseClient;
  readonly inserts: ClickHouseClient;
  readonly index: ClickHouseClient;
};

export function openClients({ store, closeStack }: ServiceContext): Clients {
  const open = (application: string, timeoutMs?: number) => {
    const client = connectStore(store.server.connection, application, timeoutMs);
    closeStack.add(() => client.close());
    return client;
  };
  return {
    polling: open("noisefloor-polling", POLLING_TIMEOUT_MS),
    lookups: open("noisefloor-lookup"),
    inserts: open("noisefloor-ingest"),
    index: open("noisefloor-index", INDEX_TIMEOUT_MS),
  };
}
