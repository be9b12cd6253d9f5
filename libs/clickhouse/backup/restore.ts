import { z } from "zod";
import { type ClickHouseClient, type ClickHouseConnection, connect, LONG_REQUEST_MS } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
import { applyDurability, readDurability } from "../schema/durability.ts";
import { migrate } from "../schema/migrate.ts";
import { TABLES } from "../schema/tables.ts";
import { readUnfinished } from "../schema/unfinished-marker.ts";
import { type ObservationSummary, summarizeObservations } from "../tables/observations.ts";
import { checkParts } from "./check-parts.ts";
import { BackupError } from "./errors.ts";
import { type KeyChanges, keepRevocations } from "./key-revocations.ts";
import { type LoadOptions, loadBackup } from "./load-backup.ts";
import type { BackupPlace } from "./place.ts";
import { rebuildRollups } from "./rebuild-rollups.ts";
import { openScratchDatabase } from "./scratch-database.ts";
import { swapTables } from "./swap-tables.ts";

export type RestoreStep = "reading" | "checking" | "rebuilding rollups" | "swapping tables";

export type RestoreOptions = LoadOptions & {
  /** Whether to overwrite a store that holds data. */
  readonly replace: boolean;
  /** Called before each step. */
  readonly onStep?: (step: RestoreStep) => void | Promise<void>;
};

export type Restored = ObservationSummary & { readonly keys: KeyChanges };

/** The store holds data, and the caller did not allow to overwrite it. */
export class HoldsDataError extends BackupError {
  override name = "HoldsDataError";
}

/**
 * Replaces a store by a backup. The backup is loaded into a scratch database, migrated to our schema and checked to the
 * last byte; its rollups are rebuilt from its observations; only then its tables are exchanged with the store's. An
 * error before that leaves the store as it was. An interrupted exchange leaves a marker, with which no service starts
 * until a restore has ended. Tables that the store has lost are created again; a user's own tables are left alone,
 * there and in the backup.
 * @returns what the store holds now; undefined when it was cancelled, which also leaves the store as it was.
 * @throws BackupError, or HoldsDataError.
 */
export async function restoreDatabase(
  connection: ClickHouseConnection,
  from: BackupPlace,
  options: RestoreOptions,
): Promise<Restored | undefined> {
  const server = connect({ ...connection, database: "default" }, "noisefloor-restore", LONG_REQUEST_MS);
  const { database } = connection;
  try {
    // Data that an interrupted restore has mixed are not worth keeping.
    const mayReplace = options.replace || (await readUnfinished(server, database)) === "restore";
    const assertReplaceable = async () => {
      if (!mayReplace) await assertNoRows(server, database);
    };
    await assertReplaceable();
    const scratch = await openScratchDatabase(connection);
    try {
      return await restoreThrough({ server, connection, scratch: scratch.name, assertReplaceable }, from, options);
    } finally {
      // A failure here must not hide how the restore ended; the next start drops what is left.
      await scratch.close().catch(() => {});
    }
  } finally {
    await server.close();
  }
}

type Work = {
  readonly server: ClickHouseClient;
  readonly connection: ClickHouseConnection;
  /** The name of the scratch database, which is still empty. */
  readonly scratch: string;
  /** @throws HoldsDataError */
  readonly assertReplaceable: () => Promise<void>;
};

async function restoreThrough(
  { server, connection, scratch, assertReplaceable }: Work,
  from: BackupPlace,
  options: RestoreOptions,
): Promise<Restored | undefined> {
  const prepared = connect({ ...connection, database: scratch }, "noisefloor-restore", LONG_REQUEST_MS);
  const live = connect(connection, "noisefloor-restore", LONG_REQUEST_MS);
  try {
    await options.onStep?.("reading");
    if (!(await loadBackup(server, { ...connection, database: scratch }, from, options))) return undefined;
    await options.onStep?.("checking");
    if (!(await checkParts(prepared, options))) return undefined;
    await options.onStep?.("rebuilding rollups");
    if (!(await rebuildRollups(prepared, scratch, options))) return undefined;
    const summary = await summarizeObservations(prepared);
    if (options.signal.aborted) return undefined;

    await options.onStep?.("swapping tables");
    await migrate(connection, options.migrations, { isForRestore: true });
    // Checked again: loading took its time, and a service may have started meanwhile.
    await assertReplaceable();
    await applyDurability(prepared, await readDurability(live));
    const keys = await keepRevocations(server, scratch, connection.database);
    await swapTables(live, scratch);
    return { ...summary, keys };
  } finally {
    await prepared.close();
    await live.close();
  }
}

const tablesWithRows = defineQuery({
  name: "tables-with-rows",
  sql: `SELECT name, total_rows AS rows FROM system.tables
    WHERE database = {database:String} AND total_rows > 0 AND name IN {tables:Array(String)} ORDER BY name`,
  params: z.object({ database: z.string(), tables: z.array(z.string()) }),
  row: z.object({ name: z.string(), rows: z.int() }),
});

async function assertNoRows(server: ClickHouseClient, database: string): Promise<void> {
  const tables = Object.keys(TABLES).filter((name) => name !== "schema_migrations");
  const found = await run(server, tablesWithRows, { database, tables });
  if (found.length === 0) return;
  const observations = found.find(({ name }) => name === "observations")?.rows ?? 0;
  if (observations > 0) {
    const count = observations.toLocaleString("en-US");
    throw new HoldsDataError(`the database ${database} already holds ${count} observations`);
  }
  const list = found.map(({ name, rows }) => `${name} (${rows})`).join(", ");
  throw new HoldsDataError(`the database ${database} is not empty: it has rows in ${list}`);
}
