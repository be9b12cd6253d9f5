import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { askServers } from "../client/ask-servers.ts";
import { type ClickHouseClient, type ClickHouseConnection, connect, LONG_REQUEST_MS } from "../client/connect.ts";
import { isUnknownTable, StoreError } from "../client/errors.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";
import { createDashboardViews } from "./dashboard-views.ts";
import { readUnfinished, type Unfinished } from "./unfinished-marker.ts";

/** One numbered file of idempotent statements, so that one that was applied in part can be applied again. */
export type Migration = {
  readonly version: number;
  readonly name: string;
  readonly statements: readonly string[];
  /** The rollups to fill with what is stored already; the file's comments say `-- Fill address_facets.` */
  readonly fills: readonly string[];
  readonly checksum: string;
};

export class MigrationError extends StoreError {
  override name = "MigrationError";
}

const MIGRATE = 'run "noisefloor migrate", as a user who may create tables';

const appliedMigrations = defineQuery({
  name: "applied-migrations",
  sql: "SELECT version, name, checksum FROM schema_migrations FINAL ORDER BY version",
  params: z.object({}),
  row: z.object({ version: z.int(), name: z.string(), checksum: z.string() }),
});

/** A statement ends with a semicolon at the end of a line that is no comment. */
const STATEMENT_END = /(?<!^ *--.*);\n+/m;
const FILL = /^-- Fill (\w+)\.$/gm;

/** Reads `NNNN_name.sql` files in order. Throws a MigrationError when numbers repeat or a name does not fit. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const file of (await readdir(directory)).sort()) {
    const match = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file);
    if (match === null) throw new MigrationError(`${file} is not named NNNN_name.sql`);
    const sql = await readFile(join(directory, file), "utf8");
    const version = Number(match[1]);
    if (migrations.at(-1)?.version === version) throw new MigrationError(`two migrations have the number ${match[1]}`);
    const checksum = createHash("sha256").update(sql).digest("hex");
    const statements = sql.split(STATEMENT_END).filter((statement) => statement !== "");
    const fills = [...sql.matchAll(FILL)].map(([, rollup = ""]) => rollup);
    migrations.push({ version, name: match[2] ?? "", statements, fills, checksum });
  }
  return migrations;
}

/** The tables that the migrations make; all others in a database are the user's own. */
export function tablesOf(migrations: readonly Migration[]): string[] {
  return namesIn(migrations, /^CREATE TABLE IF NOT EXISTS (\w+)/m);
}

/** The views that fill the rollups. */
export function viewsOf(migrations: readonly Migration[]): string[] {
  return namesIn(migrations, /^CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+)/m);
}

function namesIn(migrations: readonly Migration[], pattern: RegExp): string[] {
  return migrations.flatMap(({ statements }) => statements.flatMap((statement) => pattern.exec(statement)?.[1] ?? []));
}

/** How a migration is called in errors. */
export const labelOf = ({ version, name }: Pick<Migration, "version" | "name">) =>
  `${String(version).padStart(4, "0")}_${name}`;

/**
 * What a database has of these migrations.
 * @throws MigrationError when it has others, or one that has changed since.
 */
export async function readApplied(client: ClickHouseClient, migrations: readonly Migration[]): Promise<Migration[]> {
  const applied = new Map((await run(client, appliedMigrations, {})).map((row) => [row.version, row]));
  assertNoDrift(migrations, applied);
  return migrations.filter(({ version }) => applied.has(version));
}

/** Runs a statement of a migration on the server of a client. */
export type ExecuteStatement = (client: ClickHouseClient, sql: string) => Promise<void>;

export type MigrateOptions = {
  /** Called for each migration that is applied, and on record. */
  readonly onApply?: (migration: Migration) => void;
  /** A restore may migrate a database that an interrupted one has mixed, and make lost tables and views again. */
  readonly isForRestore?: boolean;
  /**
   * Whether rollups have the rows that migrations fill them with, or get them later. Otherwise these migrations stay
   * off the record, unless the database is new, and are applied again.
   */
  readonly isFilled?: boolean;
  /** Makes the views for dashboards, with the personal data of these workspaces beside shared data. */
  readonly dashboardWorkspaces?: readonly string[] | undefined;
};

/**
 * Brings a server's schema up to date: makes the database, applies what is missing in order, records each file's
 * SHA-256. Safe when several processes run it together: every statement is idempotent (a test applies each twice)
 * and so is its record, so no lock is needed that a killed process could leave.
 * @returns the migrations that this call applied.
 * @throws MigrationError when a file that was applied has changed since, the server knows a version that we do not, a
 * table or a view is lost, or a restore has not ended.
 */
export async function migrate(
  connection: ClickHouseConnection,
  directory: string,
  options: MigrateOptions = {},
  execute: ExecuteStatement = async (client, sql) => void (await client.command({ query: sql })),
): Promise<Migration[]> {
  const migrations = await readMigrations(directory);
  await createDatabase(connection);
  const client = connect(connection, "noisefloor-migrate", LONG_REQUEST_MS);
  try {
    if (!options.isForRestore) await assertFinished(client);
    await client.command({
      query: `CREATE TABLE IF NOT EXISTS schema_migrations
        (version UInt32, name String, checksum String, applied_at DateTime64(3, 'UTC'))
        ENGINE = ReplacingMergeTree ORDER BY version`,
    });
    const applied = await readApplied(client, migrations);
    const existing = await readTables(client);
    const lost = [...tablesOf(applied), ...viewsOf(applied)].filter((name) => !existing.has(name));
    const isLost = lost.length > 0;
    if (isLost && !options.isForRestore) {
      throw new MigrationError(`the database has lost ${lost.join(", ")}: restore a backup, which creates them again`);
    }
    const pending = migrations.filter((migration) => isLost || !applied.includes(migration));
    // A database that had no observations before has nothing to fill rollups with.
    const isFilled = options.isFilled || !existing.has("observations");
    const done: Migration[] = [];
    try {
      for (const migration of pending) {
        for (const statement of migration.statements) await execute(client, statement);
        done.push(migration);
      }
    } finally {
      // In one insert for all. A migration that is not on record is applied again, in order, which changes nothing.
      const unfilled = isFilled ? -1 : done.findIndex(({ fills }) => fills.length > 0);
      const recorded = unfilled < 0 ? done : done.slice(0, unfilled);
      await recordMigrations(client, recorded);
      for (const migration of recorded) options.onApply?.(migration);
    }
    if (options.dashboardWorkspaces !== undefined) await createDashboardViews(client, options.dashboardWorkspaces);
    return pending;
  } finally {
    await client.close();
  }
}

async function recordMigrations(client: ClickHouseClient, migrations: readonly Migration[]): Promise<void> {
  if (migrations.length === 0) return;
  const applied_at = toDateTime64(Date.now());
  await client.insert({
    table: "schema_migrations",
    values: migrations.map(({ version, name, checksum }) => ({ version, name, checksum, applied_at })),
    format: "JSONEachRow",
  });
}

/**
 * Throws a MigrationError unless the schema, on every server of a cluster, is exactly the one that these migrations
 * make and no restore is half done. Takes only the right to read.
 */
export async function assertCurrentSchema(client: ClickHouseClient, migrations: readonly Migration[]): Promise<void> {
  await askServers(client, (server) => assertServerIsCurrent(server, migrations));
}

async function assertServerIsCurrent(client: ClickHouseClient, migrations: readonly Migration[]): Promise<void> {
  const applied = await readApplied(client, migrations).catch((error: unknown) => {
    throw isUnknownTable(error) ? new MigrationError(`the database has no schema yet: ${MIGRATE}`) : error;
  });
  await assertFinished(client);
  const firstPending = migrations.find((migration) => !applied.includes(migration));
  if (firstPending !== undefined) {
    throw new MigrationError(`migration ${firstPending.name} has not been applied: ${MIGRATE}`);
  }
}

const existingTables = defineQuery({
  name: "existing-tables",
  sql: "SELECT name FROM system.tables WHERE database = currentDatabase()",
  params: z.object({}),
  row: z.object({ name: z.string() }),
});

async function readTables(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  return new Set((await run(client, existingTables, {})).map(({ name }) => name));
}

const REMEDIES: Readonly<Record<Unfinished, string>> = {
  restore:
    'a restore is running or was interrupted, so the data are mixed: wait for its end, or run "noisefloor restore" again',
  rebalance:
    'the database is a copy that is not complete: stop the intake and run "noisefloor cluster rebalance --finish"',
};

async function assertFinished(client: ClickHouseClient): Promise<void> {
  const unfinished = await readUnfinished(client);
  if (unfinished !== undefined) throw new MigrationError(REMEDIES[unfinished]);
}

/** Makes the database of a connection on its server, if there is none. */
export async function createDatabase(connection: ClickHouseConnection): Promise<void> {
  const client = connect({ ...connection, database: "default" }, "noisefloor-migrate");
  try {
    await client.command({
      query: "CREATE DATABASE IF NOT EXISTS {name:Identifier}",
      query_params: { name: connection.database },
    });
  } finally {
    await client.close();
  }
}

function assertNoDrift(
  migrations: readonly Migration[],
  applied: ReadonlyMap<number, { version: number; name: string; checksum: string }>,
): void {
  const byVersion = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const [version, row] of applied) {
    const file = byVersion.get(version);
    if (file === undefined) {
      throw new MigrationError(
        `the database was written by a newer Noisefloor (it has migration ${labelOf(row)}): update this one, or restore an older backup`,
      );
    }
    if (file.checksum !== row.checksum) {
      throw new MigrationError(
        `the database was made by an unreleased Noisefloor, whose migration ${labelOf(row)} was another one: start with ` +
          'a new database and read the records again (docs/operations.md, "A database of an unreleased version")',
      );
    }
  }
}
