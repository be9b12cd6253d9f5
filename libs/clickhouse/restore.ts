import { ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import { BackupError, type BackupPlace, type BackupTerms, identifier, readTableNames, restoreAs } from "./backup.ts";
import { type ClickHouseClient, type ClickHouseConnection, connect } from "./client.ts";
import { isTransient } from "./errors.ts";
import { MigrationError, migrate } from "./migrate.ts";
import { defineQuery, run } from "./query.ts";
import { applyRetention, readRetention } from "./retention.ts";

export type RestoreTerms = BackupTerms & {
  /** The folder of our migrations. */
  readonly migrations: string;
  /** Whether data that are there may be lost. */
  readonly replace: boolean;
  /** Hears what it does next. */
  readonly onStep?: (step: "reading" | "checking" | "putting in place") => void;
};

/** The database holds data, and nobody said that they may be lost. */
export class HoldsDataError extends BackupError {
  override name = "HoldsDataError";
}

const tablesWithRows = defineQuery({
  name: "tables-with-rows",
  sql: `SELECT name, total_rows AS rows FROM system.tables
    WHERE database = {database:String} AND total_rows > 0 AND name != 'schema_migrations' ORDER BY name`,
  params: z.object({ database: z.string() }),
  row: z.object({ name: z.string(), rows: z.int() }),
});

const restoresUnderWay = defineQuery({
  name: "restores-under-way",
  sql: "SELECT count() AS restores FROM system.backups WHERE status = 'RESTORING'",
  params: z.object({}),
  row: z.object({ restores: z.int() }),
});

const activeParts = defineQuery({
  name: "active-parts",
  sql: `SELECT table, name, partition_id AS partitionId, rows, bytes_on_disk AS bytes FROM system.parts
    WHERE database = {database:String} AND active AND table != 'schema_migrations' ORDER BY table, name`,
  params: z.object({ database: z.string() }),
  row: z.object({ table: z.string(), name: z.string(), partitionId: z.string(), rows: z.int(), bytes: z.int() }),
});

/**
 * Puts a backup in the place of a database. It is first restored beside it, migrated to our schema and checked to the
 * last byte; only then its parts are put in place, as they are: nothing is inserted, so no view fills its target a
 * second time. Whatever goes wrong before that leaves the database as it was.
 * @returns how many rows of observations there are now; undefined when it was cancelled, which also leaves the database
 * as it was.
 * @throws BackupError, or HoldsDataError.
 */
export async function restoreDatabase(
  connection: ClickHouseConnection,
  from: BackupPlace,
  terms: RestoreTerms,
): Promise<number | undefined> {
  const beside = { ...connection, database: `${connection.database}_restoring` };
  const server = connect({ ...connection, database: "default" }, "noisefloor-restore");
  const drop = () => server.command({ query: `DROP DATABASE IF EXISTS ${identifier(beside.database)} SYNC` });
  try {
    if (!terms.replace) await refuseData(server, connection.database);
    const [underWay] = await run(server, restoresUnderWay, {});
    if (underWay !== undefined && underWay.restores > 0) {
      throw new BackupError("another restore is under way on this server: wait for its end");
    }
    // Left behind by a restore that was killed.
    await drop();
    try {
      terms.onStep?.("reading");
      if ((await restoreAs(server, beside.database, from, terms)) === undefined) return undefined;
      await bringUpToDate(server, beside, terms.migrations);
      terms.onStep?.("checking");
      if (!(await checkParts(server, beside.database, terms))) return undefined;
      terms.onStep?.("putting in place");
      // Counted before the last moment's rows come twice, until they are merged.
      const parts = await run(server, activeParts, { database: beside.database });
      await putInPlace(server, beside, connection, terms.migrations);
      return parts.reduce((sum, { table, rows }) => sum + (table === "observations" ? rows : 0), 0);
    } finally {
      await drop();
    }
  } finally {
    await server.close();
  }
}

async function refuseData(server: ClickHouseClient, database: string): Promise<void> {
  const tables = await run(server, tablesWithRows, { database });
  if (tables.length === 0) return;
  const held = tables.map(({ name, rows }) => `${name} (${rows})`).join(", ");
  throw new HoldsDataError(`the database ${database} holds data, which a restore would replace: rows in ${held}`);
}

/** Migrates what was restored; of a newer version, or of something else, it is refused. */
async function bringUpToDate(
  server: ClickHouseClient,
  beside: ClickHouseConnection,
  migrations: string,
): Promise<void> {
  const tables = await readTableNames(server, beside.database);
  if (!tables.has("schema_migrations") || !tables.has("observations")) {
    throw new BackupError("the backup is none of Noisefloor: its tables are missing");
  }
  try {
    await migrate(beside, migrations);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    throw new BackupError(`the backup does not fit this version of Noisefloor: ${error.message}`);
  }
}

const partCheck = (database: string, table: string, part: string) =>
  defineQuery({
    name: "part-check",
    sql: `CHECK TABLE ${identifier(database)}.${identifier(table)} PART '${part}'
      SETTINGS check_query_single_value_result = 1`,
    params: z.object({}),
    row: z.object({ result: z.int() }),
  });

/** Reads every part and compares checksums: a backup that rotted on its disk is found here and not months later. */
async function checkParts(
  server: ClickHouseClient,
  database: string,
  { signal, onProgress = () => {} }: BackupTerms,
): Promise<boolean> {
  const parts = await run(server, activeParts, { database });
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { table, name, bytes } of parts) {
    if (signal.aborted) return false;
    const [checked] = await run(server, partCheck(database, table, name), {}).catch((error: unknown) => {
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

/** Not to be broken off: the parts are linked, not copied, so it takes moments. */
async function putInPlace(
  server: ClickHouseClient,
  beside: ClickHouseConnection,
  connection: ClickHouseConnection,
  migrations: string,
): Promise<void> {
  await migrate(connection, migrations);
  const restored = connect(beside, "noisefloor-restore");
  const live = connect(connection, "noisefloor-restore");
  try {
    // First, or a shorter one that holds here now could delete what has just been restored.
    await applyRetention(live, await readRetention(restored));
    const partitionsOf = async (database: string) => {
      const rows = await run(server, activeParts, { database });
      return new Map(rows.map(({ table, partitionId }) => [`${table} ${partitionId}`, { table, partitionId }]));
    };
    const wanted = await partitionsOf(beside.database);
    for (const { table, partitionId } of wanted.values()) {
      await live.command({
        query: `ALTER TABLE ${identifier(table)} REPLACE PARTITION ID {id:String}
          FROM ${identifier(beside.database)}.${identifier(table)}`,
        query_params: { id: partitionId },
      });
    }
    for (const [key, { table, partitionId }] of await partitionsOf(connection.database)) {
      if (wanted.has(key)) continue;
      await live.command({
        query: `ALTER TABLE ${identifier(table)} DROP PARTITION ID {id:String}`,
        query_params: { id: partitionId },
      });
    }
    await showViewsTheLastMoment(live);
  } finally {
    await restored.close();
    await live.close();
  }
}

/**
 * A backup takes its tables one after the other while rows come in, so that of its last moment a rollup may lack what
 * the observations have. These go through the views once more: what a rollup has already does not change it.
 */
async function showViewsTheLastMoment(live: ClickHouseClient): Promise<void> {
  await live.command({
    query: `INSERT INTO observations SELECT * FROM observations
      WHERE received_at > (SELECT max(received_at) FROM observations) - INTERVAL 1 MINUTE`,
  });
}
