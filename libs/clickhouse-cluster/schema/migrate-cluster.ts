import { type ClickHouseClient, type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { isUnreachable } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import {
  type ExecuteStatement,
  type MigrateOptions,
  type Migration,
  migrate,
} from "@noisefloor/clickhouse/schema/migrate.ts";
import { z } from "zod";
import { connectionsOfCluster } from "../client/each-server.ts";
import type { ClusterConnection } from "../client/servers.ts";
import { assertReplicated, createReplica, keeperPathsOf, replicated } from "../replicas/tables.ts";
import { createDistributedTables } from "./distributed-tables.ts";
import { copyReferenceTables } from "./reference-tables.ts";

/**
 * Brings the schema of each server of a cluster up to date, as `migrate` does that of one; all shards then read as one.
 * The replicas of a shard share its tables; a server that is new in a cluster that others have tables of gets its tags,
 * networks, workspaces and keys from one of them. While a replica is away, the others must be current: they may have no
 * statement that it lacks.
 * @returns the migrations that this call applied, on any server.
 * @throws MigrationError as `migrate` does; the error of a server that is away, if it has to be there.
 */
export async function migrateCluster(
  connection: ClusterConnection,
  directory: string,
  options: MigrateOptions = {},
): Promise<Migration[]> {
  const { cluster } = connection;
  const shards = await connectionsOfCluster(connection);
  const { isNew, away } = await lookAtAll(shards.flat());
  const applied = new Map<number, Migration>();
  for (const [index, replicas] of shards.entries()) {
    const there = replicas.filter((server) => isNew.has(server));
    if (away !== undefined && (there.length === 0 || there.some((server) => isNew.get(server)))) throw away;
    const { executeOn, close } = await openReplicas(there, `${cluster}/${index + 1}`, replicas.length > 1);
    const fail: ExecuteStatement = () => Promise.reject(away);
    // The distributed tables read the views for dashboards.
    const ofShard = { ...options, dashboardWorkspaces: options.dashboardWorkspaces ?? [] };
    try {
      for (const server of there) {
        const execute = away === undefined ? executeOn(server) : fail;
        for (const migration of await migrate(server, directory, ofShard, execute)) {
          applied.set(migration.version, migration);
        }
      }
      for (const server of there) await createDistributedTables(server, cluster);
    } finally {
      await close();
    }
  }
  const source = placeOf(shards, (server) => isNew.get(server) === false);
  if (source === undefined) return [...applied.values()];
  for (const server of shards.flat()) {
    if (!isNew.get(server)) continue;
    await withClient(server, (client) => copyReferenceTables(client, { ...source, name: cluster }));
  }
  return [...applied.values()];
}

/** Which servers answer, whether they have no tables yet, and the error of one that does not answer. */
async function lookAtAll(servers: readonly ClickHouseConnection[]) {
  const isNew = new Map<ClickHouseConnection, boolean>();
  let away: unknown;
  for (const server of servers) {
    try {
      isNew.set(server, await hasNoTables(server));
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      away = error;
    }
  }
  return { isNew, away };
}

/** How the statements of a migration run on the servers of one shard. */
async function openReplicas(replicas: readonly ClickHouseConnection[], shard: string, isReplicated: boolean) {
  const execute: ExecuteStatement = async (client, sql) => void (await client.command({ query: sql }));
  if (!isReplicated) return { executeOn: () => execute, close: async () => {} };
  const clients = replicas.map((server) => connect({ ...server, database: "default" }, "noisefloor-migrate"));
  const close = async () => void (await Promise.all(clients.map((client) => client.close())));
  const database = replicas[0]?.database ?? "";
  const prepare = async () => {
    for (const client of clients) await assertReplicated(client, database);
    return keeperPathsOf(clients, shard, database);
  };
  const paths = await prepare().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const executeOn =
    (server: ClickHouseConnection): ExecuteStatement =>
    (client, sql) => {
      const replica = new URL(server.url).hostname;
      const others = clients.filter((_, index) => replicas[index] !== server);
      return createReplica(client, replicated(sql, paths, replica), { replica, database, others });
    };
  return { executeOn, close };
}

/** The first server for which a condition holds, as the table function `cluster` names it. */
function placeOf(
  shards: readonly (readonly ClickHouseConnection[])[],
  isWanted: (server: ClickHouseConnection) => boolean,
) {
  const found = shards.flatMap((replicas, shard) =>
    replicas.map((server, replica) => ({ database: server.database, shard: shard + 1, replica, server })),
  );
  return found.find(({ server }) => isWanted(server));
}

const ownTables = defineQuery({
  name: "own-tables",
  sql: "SELECT count() AS tables FROM system.tables WHERE database = {database:String} AND name = 'schema_migrations'",
  params: z.object({ database: z.string() }),
  row: z.object({ tables: z.int() }),
});

async function hasNoTables(server: ClickHouseConnection): Promise<boolean> {
  const { database } = server;
  return withClient({ ...server, database: "default" }, async (client) => {
    return (await runForOne(client, ownTables, { database })).tables === 0;
  });
}

async function withClient<T>(server: ClickHouseConnection, work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
  const client = connect(server, "noisefloor-migrate");
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
