import { z } from "zod";
import { BackupError } from "../backup/errors.ts";
import type { BackupPlace } from "../backup/place.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import type { ClickHouseConnection } from "../client/connection.ts";
import { defineQuery, run } from "../client/query.ts";
import { type ObservationSummary, summarizeObservations } from "../observations/observations.ts";
import { fillRollups } from "../rollups/fill-rollups.ts";
import { applyDurability, readDurability } from "../schema/durability.ts";
import { migrate } from "../schema/migrate.ts";
import { DERIVED_TABLES, TABLES } from "../schema/tables.ts";
import { readUnfinished } from "../schema/unfinished-marker.ts";
import { checkParts } from "./check-parts.ts";
import { type KeyChanges, keepRevocations } from "./key-revocations.ts";
import { type LoadOptions, loadBackup } from "./load-backup.ts";
import { openScratchDatabase, type ScratchDatabase } from "./scratch-database.ts";
import { openServerWork, type ServerWork } from "./server-work.ts";
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

type Preparation = {
  readonly step: RestoreStep;
  /** Resolves to false when it was cancelled. */
  readonly run: (work: ServerWork, from: BackupPlace, options: LoadOptions) => Promise<boolean>;
};

/** What makes the tables of a store out of a backup, beside those that it has. */
export const PREPARATIONS: readonly Preparation[] = [
  { step: "reading", run: ({ server, scratch }, from, options) => loadBackup(server, scratch, from, options) },
  { step: "checking", run: ({ prepared }, _from, options) => checkParts(prepared, options) },
  {
    step: "rebuilding rollups",
    run: ({ prepared }, _from, options) => fillRollups(prepared, DERIVED_TABLES, options),
  },
];

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
  const { database } = connection;
  const work = openServerWork(connection);
  const { server, prepared, live } = work;
  let scratch: ScratchDatabase | undefined;
  try {
    const assertReplaceable = await replacementCheck([server], database, options);
    await assertReplaceable();
    scratch = await openScratchDatabase(connection);
    for (const { step, run } of PREPARATIONS) {
      await options.onStep?.(step);
      if (!(await run(work, from, options))) return undefined;
    }
    const summary = await summarizeObservations(prepared);
    if (options.signal.aborted) return undefined;

    await options.onStep?.("swapping tables");
    await migrate(connection, options.migrations, { isForRestore: true });
    await applyDurability(prepared, await readDurability(live));
    // Checked again: loading took its time, and a service may have started meanwhile.
    await assertReplaceable();
    const keys = await keepRevocations(server, scratch.name, database);
    await swapTables([{ live, names: new Map(Object.keys(TABLES).map((table) => [table, table])) }], scratch.name);
    return { ...summary, keys };
  } finally {
    // A failure here must not hide how the restore ended; the next start drops what is left.
    await scratch?.close().catch(() => {});
    await work.close();
  }
}

/**
 * @param servers that hold the store.
 * @returns what rejects with a HoldsDataError while they hold data that may not be overwritten.
 */
export async function replacementCheck(
  servers: readonly ClickHouseClient[],
  database: string,
  { replace }: Pick<RestoreOptions, "replace">,
): Promise<() => Promise<void>> {
  const unfinished = await Promise.all(servers.map((server) => readUnfinished(server, database)));
  // Data that an interrupted restore has mixed are not worth keeping.
  const mayReplace = replace || unfinished.includes("restore");
  return async () => {
    if (!mayReplace) await assertNoRows(servers, database);
  };
}

const tablesWithRows = defineQuery({
  name: "tables-with-rows",
  sql: `SELECT name, total_rows AS rows FROM system.tables
    WHERE database = {database:String} AND total_rows > 0 AND name IN {tables:Array(String)} ORDER BY name`,
  params: z.object({ database: z.string(), tables: z.array(z.string()) }),
  row: z.object({ name: z.string(), rows: z.int() }),
});

async function assertNoRows(servers: readonly ClickHouseClient[], database: string): Promise<void> {
  const tables = Object.keys(TABLES).filter((name) => name !== "schema_migrations");
  const found = await Promise.all(servers.map((server) => run(server, tablesWithRows, { database, tables })));
  const rows = new Map<string, number>();
  for (const one of found.flat()) rows.set(one.name, (rows.get(one.name) ?? 0) + one.rows);
  if (rows.size === 0) return;
  const observations = rows.get("observations") ?? 0;
  if (observations > 0) {
    const count = observations.toLocaleString("en-US");
    throw new HoldsDataError(`the database ${database} already holds ${count} rows of observations`);
  }
  const list = [...rows].map(([name, count]) => `${name} (${count})`).join(", ");
  throw new HoldsDataError(`the database ${database} is not empty: it has rows in ${list}`);
}
