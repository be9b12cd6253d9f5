import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import { type ClickHouseConnection, connect, LONG_REQUEST_MS } from "../client/connect.ts";
import { StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";

/** What one process at a time may do to a store. `restore`: whatever exchanges tables or rewrites observations. */
export type ExclusiveWork = "restore" | "backup";

const BUSY: Readonly<Record<ExclusiveWork, string>> = {
  restore: "a restore, a removal of observations or a reapplying of tags is running: wait for its end",
  backup: "another backup of this store is running: wait for its end",
};

/**
 * Takes the lock of a store for some work.
 * @param connection of one server: of a cluster, the one that all processes take the lock on.
 * @returns how to release it.
 * @throws StoreError while another process holds it.
 */
export async function holdStoreLock(
  connection: ClickHouseConnection,
  work: ExclusiveWork,
): Promise<() => Promise<void>> {
  const release = await acquireStoreLock(connection, work);
  if (release === undefined) throw new StoreError(BUSY[work]);
  return release;
}

/** @returns how to release the lock; undefined when another process holds it. */
export function acquireStoreLock(
  connection: ClickHouseConnection,
  work: ExclusiveWork,
): Promise<(() => Promise<void>) | undefined> {
  return acquireServerLock(connection, `noisefloor-${work}-${connection.database}`);
}

const runningQuery = defineQuery({
  name: "lock-query",
  sql: "SELECT query FROM system.processes WHERE query_id = {id:String}",
  params: z.object({ id: z.string() }),
  row: z.object({ query: z.string() }),
});

const QUERY_ID_IN_USE = "216";
const POLL_MS = 50;

/**
 * Takes a lock that one process at a time can hold: a query that sleeps under an id, which the server gives to one
 * query only. The server ends the query when its client's connection closes, so a process that is killed releases it.
 * @returns how to release it; undefined when another process holds it.
 */
export async function acquireServerLock(
  connection: ClickHouseConnection,
  id: string,
): Promise<(() => Promise<void>) | undefined> {
  const client = connect({ ...connection, database: "default" }, "noisefloor-lock", LONG_REQUEST_MS);
  const mark = randomUUID();
  let failure: unknown;
  const sleeping = client
    .query({
      query: `SELECT sleepEachRow(0.1) AS ${identifier(mark)} FROM numbers(864000)`,
      query_id: id,
      format: "JSONCompactEachRow",
      clickhouse_settings: {
        max_block_size: "1",
        max_execution_time: 0,
        // The server looks for clients that have gone only while it runs a query that can change nothing.
        readonly: "2",
        cancel_http_readonly_queries_on_client_close: 1,
      },
    })
    .then((result) => result.text())
    .catch((error: unknown) => {
      failure = error;
    });
  const release = async () => {
    // Not by closing the connection alone: the server would notice that a moment later, and the next command fail.
    await client.command({ query: `KILL QUERY WHERE query_id = ${literal(id)} SYNC` });
    await sleeping;
    await client.close();
  };
  try {
    for (;;) {
      const [holder] = await run(client, runningQuery, { id });
      if (holder?.query.includes(mark)) return release;
      if (failure !== undefined) break;
      await sleep(POLL_MS);
    }
  } catch (error) {
    failure ??= error;
  }
  await client.close();
  if (failure instanceof ClickHouseError && failure.code === QUERY_ID_IN_USE) return undefined;
  throw failure;
}
