import { randomUUID } from "node:crypto";
import { ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";
import { SHARDED_TABLES } from "../schema/tables.ts";

/** Where the replicas of a shard tell each other of their parts in Keeper: a path for each table, the same for all. */
export type KeeperPaths = ReadonlyMap<string, string>;

const replicaPaths = defineQuery({
  name: "replica-paths",
  sql: "SELECT table, zookeeper_path AS path FROM system.replicas WHERE database = {database:String}",
  params: z.object({ database: z.string() }),
  row: z.object({ table: z.string(), path: z.string() }),
});

/**
 * The paths of a shard's tables: those that one of its servers has already, or the first ones. These are known, so that
 * two processes that make the tables at the same time make the same.
 * @param servers of the shard.
 * @param shard tells it from all others: the cluster's name and the shard's number.
 * @param database need not exist yet.
 */
export async function keeperPathsOf(
  servers: readonly ClickHouseClient[],
  shard: string,
  database: string,
): Promise<KeeperPaths> {
  const paths = new Map(SHARDED_TABLES.map((table) => [table, `/noisefloor/${shard}/${database}/${table}`]));
  for (const server of servers) {
    for (const { table, path } of await run(server, replicaPaths, { database })) {
      if (paths.has(table)) paths.set(table, path);
    }
  }
  return paths;
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

const REPLICA_ALREADY_EXISTS = "253";

/**
 * Makes a replicated table. Keeper may still know a server of this name that was lost with its disk: as this one has no
 * such table, the name is free.
 * @param others the other servers of the shard.
 */
export async function createReplica(
  server: ClickHouseClient,
  sql: string,
  { replica, database, others }: { replica: string; database: string; others: readonly ClickHouseClient[] },
): Promise<void> {
  const create = () => server.command({ query: sql });
  await create().catch(async (error: unknown) => {
    const table = CREATED.exec(sql)?.[1];
    if (!(error instanceof ClickHouseError) || error.code !== REPLICA_ALREADY_EXISTS || table === undefined)
      throw error;
    // ClickHouse refuses when a server of this name is connected.
    const [other] = others;
    const lost = `${literal(replica)} FROM TABLE ${identifier(database)}.${identifier(table)}`;
    await other?.command({ query: `SYSTEM DROP REPLICA ${lost}` });
    await create();
  });
}

const tableEngine = defineQuery({
  name: "table-engine",
  sql: "SELECT engine_full AS engine FROM system.tables WHERE database = currentDatabase() AND name = {table:String}",
  params: z.object({ table: z.string() }),
  row: z.object({ engine: z.string() }),
});

/** The engine of a replicated table, without the path and the replica's name. */
const REPLICATED = /^Replicated(\w+)\('[^']*', '([^']*)'(?:, ([^)]*))?\)/;

/**
 * Makes an empty table like another one, which the replicas of a shard share as they share that.
 * @param servers of the shard.
 * @param table of their database.
 * @param name of the new table, which may be in another database of theirs.
 */
export async function createAlike(
  servers: readonly ClickHouseClient[],
  table: string,
  name: { readonly database: string; readonly table: string },
): Promise<void> {
  // Never one that was used before: Keeper would take the parts of that table for the new one's.
  const path = `/noisefloor/${name.database}/${name.table}/${randomUUID()}`;
  for (const server of servers) {
    const engine = await engineOf(server, table);
    const shared = engine.replace(REPLICATED, (_, kind, replica, args) => engineAt(kind, path, replica, args));
    await create(server, table, name, shared);
  }
}

/** Makes an empty table like another one on one server, which shares it with no other. */
export async function createOwn(
  server: ClickHouseClient,
  table: string,
  name: { readonly database: string; readonly table: string },
): Promise<void> {
  const engine = await engineOf(server, table);
  await create(
    server,
    table,
    name,
    engine.replace(REPLICATED, (_, kind, _replica, args) => `${kind}(${args ?? ""})`),
  );
}

async function create(
  server: ClickHouseClient,
  table: string,
  name: { readonly database: string; readonly table: string },
  engine: string,
): Promise<void> {
  await server.command({
    query: `CREATE TABLE ${identifier(name.database)}.${identifier(name.table)} AS ${identifier(table)} ENGINE = ${engine}`,
  });
}

async function engineOf(server: ClickHouseClient, table: string): Promise<string> {
  const [found] = await run(server, tableEngine, { table });
  if (found === undefined) throw new StoreError(`the table ${table} is missing`);
  return found.engine;
}

/** Waits until each server has every part that the others of its shard have. */
export async function syncReplicas(servers: readonly ClickHouseClient[], tables: readonly string[]): Promise<void> {
  for (const server of servers) {
    for (const table of tables) await server.command({ query: `SYSTEM SYNC REPLICA ${identifier(table)}` });
  }
}
