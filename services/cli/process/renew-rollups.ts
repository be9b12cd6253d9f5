import { acquireStoreLock } from "@noisefloor/clickhouse/backup/server-lock.ts";
import { LONG_REQUEST_MS } from "@noisefloor/clickhouse/client/connect.ts";
import { renewStaleRollups } from "@noisefloor/clickhouse/rollups/renew-stale.ts";
import { readStaleRollups } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { connectStore, serverOf } from "@noisefloor/clickhouse-cluster/store.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { ServiceContext } from "./service-context.ts";

const LOOK_MS = 15_000;
/** Where that fails, memory may be short, or a view broken. */
const REST_AFTER_FAILURE_MS = 5 * 60_000;

/**
 * Makes rollups anew, beside the service, where a removal of observations or a reapplying of tags was interrupted, or an
 * insert failed after some of its views had seen it.
 */
export function renewRollups({ store, log, closeStack }: Pick<ServiceContext, "store" | "log" | "closeStack">): void {
  const { connection } = store.server;
  const stopping = new AbortController();
  const { signal } = stopping;
  const renew = async () => {
    if ((await readStaleRollups(store.client)) === undefined) return;
    const release = await acquireStoreLock(serverOf(connection), "restore");
    // The command that holds it does the work itself.
    if (release === undefined) return;
    const client = connectStore(connection, "noisefloor-renew", LONG_REQUEST_MS);
    try {
      log.warn("rollups do not count what is stored, as after an insert that failed: making them anew");
      const result = await renewStaleRollups(client, { signal });
      if (result === "replaced") log.info("the rollups are current");
    } finally {
      await client.close();
      await release();
    }
  };
  const renewals = repeatEvery(renew, {
    everyMs: undefined,
    pauseMs: (hasFailed) => (hasFailed ? REST_AFTER_FAILURE_MS : LOOK_MS),
    onError: (error) => log.error({ err: error }, "making the rollups anew failed, trying again"),
  });
  void renewals.run();
  closeStack.add(async () => {
    stopping.abort();
    await renewals.stop();
  });
}
