import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { isUnreachable, StoreTimeoutError } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";

const mutationsOf = defineQuery({
  name: "mutations-of-table",
  sql: `SELECT max(mutation_id) AS last, countIf(NOT is_done AND mutation_id <= {last:String}) AS unfinished,
      (SELECT countIf(is_readonly OR is_session_expired) FROM system.replicas
        WHERE database = currentDatabase() AND table = {table:String}) AS alone
    FROM system.mutations WHERE database = currentDatabase() AND table = {table:String}`,
  params: z.object({ table: z.string(), last: z.string() }),
  row: z.object({ last: z.string(), unfinished: z.int(), alone: z.int() }),
});

const POLL_MS = 100;
/** By then each process has seen that a replica is without Keeper, and does not ask it until it has caught up. */
const ALONE_MS = 10_000;
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * Waits until each replica has done the changes of a table that any of them knows. The server that makes a change does
 * not wait for one that has lost its session with Keeper for a moment, and that is asked all the same.
 */
export async function waitForReplicas(replicas: readonly ClickHouseClient[], table: string): Promise<void> {
  const begun = await Promise.all(replicas.map((server) => unlessAway(run(server, mutationsOf, { table, last: "" }))));
  const last = begun
    .flatMap((rows) => rows?.map((row) => row.last) ?? [])
    .reduce((one, other) => (one > other ? one : other), "");
  await Promise.all(replicas.map((server) => waitForMutation(server, table, last)));
}

async function waitForMutation(server: ClickHouseClient, table: string, last: string): Promise<void> {
  const start = performance.now();
  let connectedAt = start;
  for (;;) {
    const [state] = (await unlessAway(run(server, mutationsOf, { table, last }))) ?? [];
    const now = performance.now();
    if (state === undefined || (state.last >= last && state.unfinished === 0)) return;
    if (state.alone === 0) connectedAt = now;
    if (now - connectedAt > ALONE_MS) return;
    if (now - start > LONGEST_WAIT_MS) {
      throw new StoreTimeoutError(`a replica still has rows of ${table} that were changed: do the same again`);
    }
    await sleep(POLL_MS);
  }
}

/** One that comes back is not asked before it has done what it missed. */
async function unlessAway<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isUnreachable(error)) return undefined;
    throw error;
  }
}
