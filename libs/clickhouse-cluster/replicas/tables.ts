import { randomUUID } from "node:crypto";
import { ClickHouseError } from "@clickhouse/client";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, run, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { formatTable, identifier, literal, type TablePlace } from "@noisefloor/clickhouse/client/sql-text.ts";
import { SPREAD_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { retry } from "@noisefloor/domain/time/retry.ts";
import { z } from "zod";

/** Where the replicas of a shard tell each other of their parts in Keeper: a path for each table, the same for all. */
export type KeeperPaths = ReadonlyMap<string, string>;

const replicaPaths = defineQuery({
  name: "replica-paths",
  sql: "SELECT table, zookeeper_path AS path FROM system.replicas WHERE database = {database:String}",
  params: z.object({ database: z.string() }),
  row: z.object({ table: z.string(), path: z.string() }),
});

/**
 * The paths of a shard's tables: those that one of its servers has already, else the first ones. These follow from
 * names alone, so that two processes which make the tables at the same time agree.
 * @param servers of the shard.
 * @param shard tells it from all others: the cluster's name and the shard's number.
 * @param database need not exist yet.
 */
export async function keeperPathsOf(
  servers: readonly ClickHouseClient[],
  shard: string,
  database: string,
): Promise<KeeperPaths> {
  const paths = new Map(SPREAD_TABLES.map((table) => [table, `/noisefloor/${shard}/${database}/${table}`]));
  for (const server of servers) {
    for (const { table, path } of await run(server, replicaPaths, { database })) {
      if (paths.has(table)) paths.set(table, path);
    }
  }
  return paths;
}

const ownTables = defineQuery({
  name: "tables-without-replicas",
  sql: `SELECT name FROM system.tables WHERE database = {database:String} AND name IN {sharded:Array(String)}
      AND engine LIKE '%MergeTree' AND engine NOT LIKE 'Replicated%' ORDER BY name`,
  params: z.object({ database: z.string(), sharded: z.array(z.string()).readonly() }),
  row: z.object({ name: z.string() }),
});

/**
 * @throws StoreError when a server has tables that it shares with no other: new replicas would never get their rows.
 */
export async function assertReplicated(server: ClickHouseClient, database: string): Promise<void> {
  const [found] = await run(server, ownTables, { database, sharded: SPREAD_TABLES });
  if (found === undefined) return;
  throw new StoreError(
    `the table ${found.name} of ${database} is not replicated, but its shard has several servers: list them under another ` +
      'name, and copy with "noisefloor cluster rebalance" (docs/scaling.md)',
  );
}

const CREATED = /^CREATE TABLE IF NOT EXISTS (\w+)/m;
const ENGINE = /^ENGINE = (\w*MergeTree)(?:\(([^)]*)\))?/m;

/**
 * The same CREATE TABLE for a server that shares the table with the other replicas of its shard; any other statement as
 * it is.
 * @param replica the server's name among the replicas.
 */
export function replicated(sql: string, paths: KeeperPaths, replica: string): string {
  const path = paths.get(CREATED.exec(sql)?.[1] ?? "");
  if (path === undefined) return sql;
  return sql.replace(ENGINE, (_, engine, args) => `ENGINE = ${engineAt(engine, path, replica, args)}`);
}

function engineAt(engine: string, path: string, replica: string, args: string | undefined): string {
  return `Replicated${engine}(${[literal(path), literal(replica), ...(args ? [args] : [])].join(", ")})`;
}

const [TABLE_WAS_NOT_DROPPED, REPLICA_ALREADY_EXISTS] = ["305", "253"];
/** Keeper has other columns, or another TTL. */
const [INCOMPATIBLE_COLUMNS, METADATA_MISMATCH] = ["122", "342"];
/** Keeper ends the session of a server that was lost after 30 seconds, unless configured otherwise. */
const SESSION_MS = 60_000;
const hasCode = (error: unknown, code: string) => error instanceof ClickHouseError && error.code === code;

/**
 * Makes a replicated table. Keeper may still know a server of this name that was lost with its disk: as this one has no
 * such table, the name is free. A table that migrations have changed on the others since is made as they have it.
 * @param others the other servers of the shard.
 */
export async function createReplica(
  server: ClickHouseClient,
  sql: string,
  { replica, database, others }: { replica: string; database: string; others: readonly ClickHouseClient[] },
): Promise<void> {
  const table = CREATED.exec(sql)?.[1];
  const [other] = others;
  for (let query = sql; ; ) {
    try {
      await server.command({ query });
      return;
    } catch (error) {
      if (table === undefined || other === undefined) throw error;
      const isChanged = hasCode(error, INCOMPATIBLE_COLUMNS) || hasCode(error, METADATA_MISMATCH);
      if (isChanged && query === sql) {
        const { definition } = await runForOne(other, tableDefinition, { database, table });
        query = definition.replace(REPLICA_OF_ENGINE, (_, engine) => `${engine}, ${literal(replica)}`);
        continue;
      }
      if (!hasCode(error, REPLICA_ALREADY_EXISTS)) throw error;
      const drop = `SYSTEM DROP REPLICA ${literal(replica)} FROM TABLE ${formatTable({ database, table })}`;
      // Until then the session of the lost server has not ended, or one with this name is connected.
      const isConnected = (reason: unknown) => hasCode(reason, TABLE_WAS_NOT_DROPPED);
      await retry(() => other.command({ query: drop }), { forMs: SESSION_MS, isTransient: isConnected });
    }
  }
}

const REPLICA_OF_ENGINE = /(ENGINE = Replicated\w+\('[^']*'), '[^']*'/;

const tableDefinition = defineQuery({
  name: "replica-definition",
  sql: `SELECT create_table_query AS definition FROM system.tables
    WHERE database = {database:String} AND name = {table:String}`,
  params: z.object({ database: z.string(), table: z.string() }),
  row: z.object({ definition: z.string() }),
});

const tableEngine = defineQuery({
  name: "table-engine",
  sql: `SELECT engine_full AS engine FROM system.tables
    WHERE database = if({database:String} = '', currentDatabase(), {database:String}) AND name = {table:String}`,
  params: z.object({ database: z.string(), table: z.string() }),
  row: z.object({ engine: z.string() }),
});

/** @param database the client's own, if left out. */
async function engineOf(server: ClickHouseClient, table: string, database = ""): Promise<string> {
  const [found] = await run(server, tableEngine, { database, table });
  if (found === undefined) throw new StoreError(`the table ${table} is missing`);
  return found.engine;
}

/** A server of a shard, by its name among the replicas. */
type Replica = { readonly client: ClickHouseClient; readonly name: string };

/**
 * Makes an empty table like another one, which the replicas of a shard share if they share that.
 * @param servers of the shard.
 * @param table of their database.
 * @param place of the new table.
 */
export async function createAlike(
  servers: readonly ClickHouseClient[],
  table: string,
  place: TablePlace,
): Promise<void> {
  const path = newPath(place);
  for (const server of servers) {
    const engine = await engineOf(server, table);
    await create(server, table, place, engine.replace(/^(Replicated\w+\()'[^']*'/, `$1${literal(path)}`));
  }
}

/** Makes an empty table like another one of the server's database, which no other server shares. */
export async function createOwn(server: ClickHouseClient, table: string, place: TablePlace): Promise<void> {
  const engine = await engineOf(server, table);
  await create(server, table, place, engine.replace(/^Replicated(\w+\()'[^']*', '[^']*'(?:, )?/, "$1"));
}

/**
 * Makes an empty table that the replicas of a shard share, with the engine of a table of one of them.
 * @param replicas clients of a database that has a table with these columns.
 * @param engineFrom the client and the table that no other server shares.
 */
export async function createShared(
  replicas: readonly Replica[],
  table: string,
  engineFrom: { readonly client: ClickHouseClient; readonly place: TablePlace },
  place: TablePlace,
): Promise<void> {
  const engine = await engineOf(engineFrom.client, engineFrom.place.table, engineFrom.place.database);
  const path = newPath(place);
  for (const { client, name } of replicas) {
    const shared = engine.replace(/^(\w+)(?:\(([^)]*)\))?/, (_, kind, args) => engineAt(kind, path, name, args));
    await create(client, table, place, shared);
  }
}

/** Never one that was used before: Keeper would take the parts of that table for the new one's. */
const newPath = ({ database, table }: TablePlace) => `/noisefloor/${database}/${table}/${randomUUID()}`;

async function create(server: ClickHouseClient, table: string, place: TablePlace, engine: string): Promise<void> {
  await server.command({ query: `CREATE TABLE ${formatTable(place)} AS ${identifier(table)} ENGINE = ${engine}` });
}

const partitions = defineQuery({
  name: "table-partitions",
  sql: `SELECT DISTINCT partition_id AS id FROM system.parts
    WHERE database = {database:String} AND table = {table:String} AND active ORDER BY id`,
  params: z.object({ database: z.string(), table: z.string() }),
  row: z.object({ id: z.string() }),
});

/** Links the parts of a table into another one that is like it, which copies nothing on this server. */
export async function linkParts(server: ClickHouseClient, from: TablePlace, into: TablePlace): Promise<void> {
  for (const { id } of await run(server, partitions, from)) {
    await server.command({
      query: `ALTER TABLE ${formatTable(into)} ATTACH PARTITION ID ${literal(id)} FROM ${formatTable(from)}`,
    });
  }
}

/** Waits until each server of a shard has every part that the others have. */
export async function syncReplicas(
  servers: readonly ClickHouseClient[],
  tables: readonly string[],
  database?: string,
): Promise<void> {
  if (servers.length < 2) return;
  for (const server of servers) {
    for (const table of tables) {
      const name = database === undefined ? identifier(table) : formatTable({ database, table });
      await server.command({ query: `SYSTEM SYNC REPLICA ${name}` });
    }
  }
}
