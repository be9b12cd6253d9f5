import { ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import { type ClickHouseClient, type ClickHouseConnection, connect, PATIENT_MS } from "../client/connect.ts";
import { isTransient } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier } from "../client/sql-text.ts";
import { migrate, readMigrations, tablesOf } from "../schema/migrate.ts";
import { BackupError, type BackupPlace, type BackupTerms, readTableNames } from "./backup.ts";
import { type KeptKeys, keepRevocations } from "./key-revocations.ts";
import { activeParts, putInPlace, requireSameStructure } from "./put-in-place.ts";
import { countObservations, type HeldObservations, type ReadBackupTerms, readBackup } from "./read-backup.ts";
import { RESTORE_MARKER } from "./restore-marker.ts";
import { openWorkingDatabase } from "./working-database.ts";

export type RestoreTerms = ReadBackupTerms & {
  /** Whether data that are there may be lost. */
  readonly replace: boolean;
  /** Hears what it does next. */
  readonly onStep?: (step: "reading" | "checking" | "putting in place") => void;
};

export type Restored = HeldObservations & { readonly keys: KeptKeys };

/** The database holds data, and nobody said that they may be lost. */
export class HoldsDataError extends BackupError {
  override name = "HoldsDataError";
}

const tablesWithRows = defineQuery({
  name: "tables-with-rows",
  sql: `SELECT name, total_rows AS rows FROM system.tables
    WHERE database = {database:String} AND total_rows > 0 AND name IN {tables:Array(String)} ORDER BY name`,
  params: z.object({ database: z.string(), tables: z.array(z.string()) }),
  row: z.object({ name: z.string(), rows: z.int() }),
});

/**
 * Puts a backup in the place of a database. It is first read into one beside it, migrated to our schema and checked
 * to the last byte; only then its parts are put in place, as they are. Whatever goes wrong before that leaves the database as
 * it was; what goes wrong afterwards leaves a mark, with which no service starts until a restore has ended. What the
 * database has lost is made anew. Tables that are not ours are left alone, there and in the backup.
 * @returns what there is now; undefined when it was cancelled, which also leaves the database as it was.
 * @throws BackupError, or HoldsDataError.
 */
export async function restoreDatabase(
  connection: ClickHouseConnection,
  from: BackupPlace,
  terms: RestoreTerms,
): Promise<Restored | undefined> {
  const tables = tablesOf(await readMigrations(terms.migrations));
  const server = connect({ ...connection, database: "default" }, "noisefloor-restore", PATIENT_MS);
  const { database } = connection;
  try {
    // What a restore that broke off has left is nothing that anybody wants to keep.
    const mayReplace = terms.replace || (await readTableNames(server, database)).has(RESTORE_MARKER);
    const refuseData = async () => {
      if (!mayReplace) await requireNoRows(server, database, tables);
    };
    await refuseData();
    const copy = await openWorkingDatabase(server, database, "restoring");
    let restored: Restored | undefined;
    try {
      if (copy.others.length > 0) {
        throw new BackupError(
          "another restore of this store is under way: wait for its end. One that was killed counts for a minute more",
        );
      }
      restored = await restoreBy({ server, connection, copy: copy.name, tables, refuseData }, from, terms);
    } catch (error) {
      // A copy that cannot be removed either must not hide why; a later restore removes it.
      await copy.drop().catch(() => {});
      throw error;
    }
    await copy.drop();
    return restored;
  } finally {
    await server.close();
  }
}

type Work = {
  readonly server: ClickHouseClient;
  readonly connection: ClickHouseConnection;
  /** The database beside, which is still empty. */
  readonly copy: string;
  readonly tables: readonly string[];
  readonly refuseData: () => Promise<void>;
};

async function restoreBy(
  { server, connection, copy, tables, refuseData }: Work,
  from: BackupPlace,
  terms: RestoreTerms,
): Promise<Restored | undefined> {
  const beside = { ...connection, database: copy };
  const client = connect(beside, "noisefloor-restore", PATIENT_MS);
  try {
    terms.onStep?.("reading");
    if (!(await readBackup(server, beside, from, terms))) return undefined;
    terms.onStep?.("checking");
    // The parts that are listed must be there until they are put in place.
    for (const table of tables) await client.command({ query: `SYSTEM STOP MERGES ${identifier(table)}` });
    if (!(await checkParts(client, await run(client, activeParts, { database: copy, tables: [...tables] }), terms)))
      return undefined;
    await showViewsTheLastMoments(client, copy);
    const held = await countObservations(client);
    if (terms.signal.aborted) return undefined;

    terms.onStep?.("putting in place");
    await migrate(connection, terms.migrations, { isForRestore: true });
    // Looked at again: reading took its time, and a service may have been started meanwhile.
    await refuseData();
    await requireSameStructure(server, copy, connection.database, tables);
    const keys = await keepRevocations(server, copy, connection.database);
    await putInPlace(server, copy, connection, tables);
    return { ...held, keys };
  } finally {
    await client.close();
  }
}

async function requireNoRows(server: ClickHouseClient, database: string, tables: readonly string[]): Promise<void> {
  const held = await run(server, tablesWithRows, { database, tables: [...tables] });
  if (held.length === 0) return;
  const list = held.map(({ name, rows }) => `${name} (${rows})`).join(", ");
  throw new HoldsDataError(`the database ${database} is not empty: it has rows in ${list}`);
}

const partCheck = (table: string, part: string) =>
  defineQuery({
    name: "part-check",
    sql: `CHECK TABLE ${identifier(table)} PART '${part}'
      SETTINGS check_query_single_value_result = 1`,
    params: z.object({}),
    row: z.object({ result: z.int() }),
  });

/** Reads every part and compares checksums: a backup that rotted on its disk is found here and not months later. */
async function checkParts(
  client: ClickHouseClient,
  parts: readonly { readonly table: string; readonly name: string; readonly bytes: number }[],
  { signal, onProgress = () => {} }: BackupTerms,
): Promise<boolean> {
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { table, name, bytes } of parts) {
    if (signal.aborted) return false;
    const [checked] = await run(client, partCheck(table, name), {}).catch((error: unknown) => {
      if (error instanceof ClickHouseError && !isTransient(error)) return [];
      throw error;
    });
    if (checked?.result !== 1)
      throw new BackupError(`the backup is damaged: the part ${name} of ${table} is not whole`);
    done += bytes;
    onProgress(done, total);
  }
  return true;
}

/**
 * A backup takes the rollups before the observations, so that of its last moments a rollup may lack what the
 * observations have. These go through the views once more: what a rollup has already does not change it. To be called
 * when parts are no longer merged: those that it makes of the observations are taken away again.
 */
async function showViewsTheLastMoments(client: ClickHouseClient, database: string): Promise<void> {
  const readParts = async () =>
    (await run(client, activeParts, { database, tables: ["observations"] })).map(({ name }) => name);
  const before = new Set(await readParts());
  await client.command({
    query: `INSERT INTO observations SELECT * FROM observations
      WHERE received_at > (SELECT max(received_at) FROM observations) - INTERVAL 10 MINUTE`,
  });
  for (const part of await readParts()) {
    if (before.has(part)) continue;
    await client.command({ query: "ALTER TABLE observations DROP PART {part:String}", query_params: { part } });
  }
}
