import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier } from "../client/sql-text.ts";
import { DERIVED_TABLES } from "../schema/tables.ts";
import { readUnfinished } from "../schema/unfinished-marker.ts";
import { BackupError } from "./errors.ts";
import { type BackupOptions, runOperation } from "./operation.ts";
import type { BackupPlace } from "./place.ts";

/** What a server says that it has made. */
export type MadeBackup = {
  readonly bytes: number;
  /** The size of all files in it, or of all entries of an archive before compression. */
  readonly storedBytes: number;
};

/** The name of the database inside its backups, so that one can be restored under any name. */
const NAME_INSIDE = "noisefloor";

/**
 * Makes a backup of a database, without the rollups: a server copies its tables one after the other, so rollups would
 * count observations that the backup lacks. The server goes on working meanwhile. It reports success even when its
 * writes failed, as on a full disk: only what `verifyBackup` has read is a backup.
 * @returns undefined when it was cancelled.
 * @throws BackupError
 */
export async function backUpDatabase(
  client: ClickHouseClient,
  database: string,
  to: BackupPlace,
  options: BackupOptions,
): Promise<MadeBackup | undefined> {
  const tables = await readTableNames(client, database);
  if (!tables.has("schema_migrations")) throw new BackupError(`the database ${database} has no tables of Noisefloor`);
  await assertWhole(client, database);
  const except = DERIVED_TABLES.filter((name) => tables.has(name)).map((name) => tableIn(database, name));
  const statement = `BACKUP DATABASE ${identifier(database)} AS ${NAME_INSIDE}
    ${except.length === 0 ? "" : `EXCEPT TABLES ${except.join(", ")}`} TO`;
  const made = await runOperation(client, { action: "make", statement, place: to }, options);
  return made && { bytes: made.total_size, storedBytes: made.uncompressed_size };
}

/** @throws BackupError when some of a database's data are missing. */
export async function assertWhole(client: ClickHouseClient, database: string): Promise<void> {
  const unfinished = await readUnfinished(client, database);
  if (unfinished === undefined) return;
  throw new BackupError(
    `a ${unfinished} is running or was interrupted: some of the data are missing, so there is nothing to back up`,
  );
}

/**
 * Has the server read a backup's manifest, which is at its end, and compare one table in it with the database's own.
 * That finds an archive that is cut off, and in a compressed one every gap; it does not find a file of a folder that is
 * short.
 * @returns whether it was read; false when that was cancelled.
 * @throws BackupError
 */
export async function verifyBackup(
  client: ClickHouseClient,
  database: string,
  from: BackupPlace,
  options: BackupOptions,
): Promise<boolean> {
  const statement = restoreStatement(["schema_migrations"], database);
  const settings = ["structure_only = true", "create_table = 'must-exist'"];
  return (await runOperation(client, { action: "verify", statement, place: from, settings }, options)) !== undefined;
}

/**
 * Restores tables of a backup into a database that holds no rows of them yet.
 * @param options `parts`: the definitions first, then the data into the tables that these made, or both together.
 * @returns whether it was done; false when it was cancelled.
 * @throws BackupError
 */
export async function restoreTables(
  client: ClickHouseClient,
  database: string,
  names: readonly string[],
  from: BackupPlace,
  { parts, ...options }: BackupOptions & { readonly parts: "all" | "definitions" | "data" },
): Promise<boolean> {
  const statement = restoreStatement(names, database);
  const settings = parts === "definitions" ? ["structure_only = true"] : [];
  return (await runOperation(client, { action: "restore", statement, place: from, settings }, options)) !== undefined;
}

function restoreStatement(names: readonly string[], database: string): string {
  const elements = names.map((name) => `TABLE ${tableIn(NAME_INSIDE, name)} AS ${tableIn(database, name)}`);
  return `RESTORE ${elements.join(", ")} FROM`;
}

function tableIn(database: string, name: string): string {
  return `${identifier(database)}.${identifier(name)}`;
}

const tableNames = defineQuery({
  name: "table-names",
  sql: "SELECT name FROM system.tables WHERE database = {database:String}",
  params: z.object({ database: z.string() }),
  row: z.object({ name: z.string() }),
});

export async function readTableNames(client: ClickHouseClient, database: string): Promise<ReadonlySet<string>> {
  return new Set((await run(client, tableNames, { database })).map(({ name }) => name));
}
