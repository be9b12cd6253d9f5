import { acquireStoreLock } from "@noisefloor/clickhouse/backup/server-lock.ts";
import { LONG_REQUEST_MS } from "@noisefloor/clickhouse/client/connect.ts";
import { renewStaleRollups } from "@noisefloor/clickhouse/rollups/renew-stale.ts";
import { readStaleRollups } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { connectStore, serverOf } from "@noisefloor/clickhouse-cluster/store.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * Ends what a removal of observations or a reapplying of tags has left to do, beside the service. A failure is logged:
 * the next start, or the same command, tries again.
 */
export function renewRollups({ store, log, closeStack }: Pick<ServiceContext, "store" | "log" | "closeStack">): void {
  const { connection } = store.server;
  const stopping = new AbortController();
  const renew = async () => {
    if ((await readStaleRollups(store.client)) === undefined) return;
    const release = await acquireStoreLock(serverOf(connection), "restore");
    // The command that holds it does the work itself.
    if (release === undefined) return;
    const client = connectStore(connection, "noisefloor-renew", LONG_REQUEST_MS);
    try {
      log.warn("a removal of observations or a reapplying of tags was interrupted: making the rollups anew");
      const result = await renewStaleRollups(client, { signal: stopping.signal });
      if (result === "replaced") log.info("the rollups are current");
    } finally {
      await client.close();
      await release();
    }
  };
  const renewing = renew().catch((error: unknown) => log.error({ err: error }, "making the rollups anew failed"));
  closeStack.add(async () => {
    stopping.abort();
    await renewing;
  });
}
