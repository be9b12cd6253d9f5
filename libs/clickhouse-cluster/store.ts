import type { BackupPlace } from "@noisefloor/clickhouse/backup/place.ts";
import { type ClickHouseClient, connect, LONG_REQUEST_MS } from "@noisefloor/clickhouse/client/connect.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connection.ts";
import type { Restored, RestoreOptions } from "@noisefloor/clickhouse/restore/restore.ts";
import { type FillOptions, fillEarlier } from "@noisefloor/clickhouse/rollups/fill-rollups.ts";
import { type MigrateOptions, type Migration, migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { type BackupPart, partsOf } from "./backup/parts.ts";
import { restoreParts } from "./backup/restore-parts.ts";
import { connectCluster } from "./client/client.ts";
import { connectionsOfCluster } from "./client/each-server.ts";
import type { ClusterConnection } from "./client/servers.ts";
import { migrateCluster } from "./schema/migrate-cluster.ts";

/*
 * What is done to a store, which is one server or a cluster: its connection says which.
 */

const isOfCluster = (connection: ClickHouseConnection): connection is ClusterConnection =>
  connection.cluster !== undefined;

/** The server that a connection names, by itself. */
export function serverOf({ url, username, password, database }: ClickHouseConnection): ClickHouseConnection {
  return { url, username, password, database };
}

/** A client of the store: see `connect`. */
export function connectStore(
  connection: ClickHouseConnection,
  application: string,
  requestTimeoutMs?: number,
): ClickHouseClient {
  return isOfCluster(connection)
    ? connectCluster(connection, application, requestTimeoutMs)
    : connect(serverOf(connection), application, requestTimeoutMs);
}

/** A connection to each server of the store by itself. */
export async function serversOf(connection: ClickHouseConnection): Promise<readonly ClickHouseConnection[]> {
  return isOfCluster(connection) ? (await connectionsOfCluster(connection)).flat() : [serverOf(connection)];
}

const migrateServers = (connection: ClickHouseConnection, directory: string, options: MigrateOptions) =>
  isOfCluster(connection)
    ? migrateCluster(connection, directory, options)
    : migrate(serverOf(connection), directory, options);

/**
 * Brings the store's schema up to date and fills what migrations say with the observations that are stored: see
 * `migrate`. All servers of a shard have a new view before its rollup is filled: an insert into one without it would
 * leave out rows.
 */
export async function migrateStore(
  connection: ClickHouseConnection,
  directory: string,
  { onFill, ...options }: MigrateOptions & { readonly onFill?: FillOptions["onProgress"] } = {},
): Promise<Migration[]> {
  const applied = await migrateServers(connection, directory, options);
  const rollups = [...new Set(applied.flatMap(({ fills }) => fills))];
  if (rollups.length === 0) return applied;
  const client = connectStore(connection, "noisefloor-migrate", LONG_REQUEST_MS);
  try {
    for (const owner of await client.owners()) await fillEarlier(owner, rollups, onFill);
  } finally {
    await client.close();
  }
  await migrateServers(connection, directory, { ...options, isFilled: true });
  return applied;
}

/** Replaces the store by a backup: see `restoreParts`. */
export async function restoreStore(
  connection: ClickHouseConnection,
  from: BackupPlace,
  options: RestoreOptions,
): Promise<Restored | undefined> {
  const parts = await backupPartsOf(connection, from);
  const migrateIt = () => migrateServers(connection, options.migrations, { isForRestore: true });
  return restoreParts({ connection, parts, migrate: migrateIt }, options);
}

/** The parts of the store's backup, which are made one by one. @param place as the user names it. */
export async function backupPartsOf(
  connection: ClickHouseConnection,
  place: BackupPlace,
): Promise<readonly BackupPart[]> {
  if (isOfCluster(connection)) return partsOf(connection, place);
  const server = serverOf(connection);
  return [{ connection: server, replicas: [server], place }];
}
