import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { restoreTables } from "../backup/backup.ts";
import { BackupError } from "../backup/errors.ts";
import type { BackupOptions } from "../backup/operation.ts";
import type { BackupPlace } from "../backup/place.ts";
import { type ClickHouseClient, type ClickHouseConnection, connect } from "../client/connect.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { identifier } from "../client/sql-text.ts";
import { MigrationError, migrate, readApplied, readMigrations, tablesOf } from "../schema/migrate.ts";
import { AGEING_TABLES, COPIED_TABLES } from "../schema/tables.ts";
import { applyRetention, readRetention } from "../storage/retention.ts";

export type LoadOptions = BackupOptions & {
  /** The folder of our migrations. */
  readonly migrations: string;
  /** The fewest days for which the rows of the backup are kept, if its own retention is shorter. */
  readonly retentionDays?: number | undefined;
};

/**
 * Loads a backup's own tables, without the rollups, into an empty database and migrates it to our schema. A user's
 * views and tables are left out: a view would fire for every row, and a table may read from elsewhere. TTL deletes
 * nothing meanwhile.
 * @returns whether it was loaded; false when it was cancelled.
 * @throws BackupError
 */
export async function loadBackup(
  server: ClickHouseClient,
  scratch: ClickHouseConnection,
  from: BackupPlace,
  options: LoadOptions,
): Promise<boolean> {
  const restore = (names: readonly string[], parts: "all" | "definitions" | "data") =>
    restoreTables(server, scratch.database, names, from, { ...options, parts });
  const client = connect(scratch, "noisefloor-restore");
  try {
    // Only the migrations in a backup say which of its tables are ours.
    if (!(await restore(["schema_migrations"], "all").catch(rejectForeign))) return false;
    const applied = await readApplied(client, await readMigrations(options.migrations)).catch(explainMismatch);
    const tables = tablesOf(applied).filter((name) => COPIED_TABLES.includes(name));
    if (!(await restore(tables, "definitions"))) return false;
    for (const table of tables) await client.command({ query: `SYSTEM STOP TTL MERGES ${identifier(table)}` });
    if (!(await restore(tables, "data"))) return false;
    // All rollups are made of the observations afterwards.
    await migrate(scratch, options.migrations, { isForRestore: true, isFilled: true }).catch(explainMismatch);
    return await settleRetention(client, options);
  } finally {
    await client.close();
  }
}

function rejectForeign(error: unknown): never {
  if (error instanceof BackupError && error.message.includes("schema_migrations")) {
    throw new BackupError("the backup has no tables of Noisefloor", { cause: error });
  }
  throw error;
}

function explainMismatch(error: unknown): never {
  if (!(error instanceof MigrationError)) throw error;
  throw new BackupError(`the backup does not fit this version of Noisefloor: ${error.message}`, { cause: error });
}

const openMutations = defineQuery({
  name: "open-mutations",
  sql: `SELECT count() AS open, any(latest_fail_reason) AS failure FROM system.mutations
    WHERE database = currentDatabase() AND NOT is_done`,
  params: z.object({}),
  row: z.object({ open: z.int(), failure: z.string() }),
});

const POLL_MS = 100;

/**
 * Gives every table the backup's retention, or the longer one that is wanted. Each part stores when its rows end, so
 * the change must reach all parts before TTL merges are allowed again.
 * @returns whether it has; false when it was cancelled.
 * @throws BackupError
 */
export async function settleRetention(
  client: ClickHouseClient,
  { retentionDays = 0, signal }: Pick<LoadOptions, "retentionDays" | "signal">,
): Promise<boolean> {
  const days = Math.max(retentionDays, await readRetention(client));
  // Without this setting the server drops a part of which all rows had expired by the retention of before.
  await setForAgeing(client, "MODIFY SETTING materialize_ttl_recalculate_only = 1");
  await applyRetention(client, days);
  for (;;) {
    const mutations = await runForOne(client, openMutations, {});
    if (mutations.open === 0) break;
    if (mutations.failure !== "")
      throw new BackupError(`the backup cannot be kept for ${days} days: ${mutations.failure}`);
    if (signal.aborted) return false;
    await sleep(POLL_MS);
  }
  await setForAgeing(client, "RESET SETTING materialize_ttl_recalculate_only");
  return true;
}

async function setForAgeing(client: ClickHouseClient, change: string): Promise<void> {
  for (const { name } of AGEING_TABLES) await client.command({ query: `ALTER TABLE ${identifier(name)} ${change}` });
}
