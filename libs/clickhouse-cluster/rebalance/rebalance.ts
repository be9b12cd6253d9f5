import { type ClickHouseClient, LONG_REQUEST_MS } from "@noisefloor/clickhouse/client/connect.ts";
import { isUnknownTable, StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { fillRollups } from "@noisefloor/clickhouse/rollups/fill-rollups.ts";
import {
  assertCurrentSchema,
  createDatabase,
  type Migration,
  readApplied,
  readMigrations,
  viewsOf,
} from "@noisefloor/clickhouse/schema/migrate.ts";
import { DERIVED_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { putMarker, readUnfinished, removeMarker } from "@noisefloor/clickhouse/schema/unfinished-marker.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { onAllServers, sumProgress } from "../client/all-servers.ts";
import { connectCluster } from "../client/client.ts";
import { connectionsOfCluster } from "../client/each-server.ts";
import { type ClusterConnection, readShards } from "../client/servers.ts";
import { migrateCluster } from "../schema/migrate-cluster.ts";
import { assertPlacement } from "../schema/placement.ts";
import { copyReferenceTables } from "../schema/reference-tables.ts";
import { copyPortion, isCopied, type Portion, readPortions, type Source, type Target } from "./portions.ts";

export type RebalanceOptions = {
  /** The cluster and the database that the services use. Nothing in it changes. */
  readonly source: ClusterConnection;
  /** The cluster and the database that are to have the copy. */
  readonly target: ClusterConnection;
  /** The folder of our migrations. */
  readonly migrations: string;
  /** Whether the intake has been stopped and the copy is to become a store. */
  readonly isLast: boolean;
  readonly signal: AbortSignal;
  readonly onProgress?: (step: RebalanceStep, done: number, total: number) => void;
};

export type RebalanceStep = "comparing and copying" | "rebuilding rollups" | "comparing again";

/** A portion has the rows of one table's partition that belong to one server. */
export type Rebalanced = {
  /** False when it was cancelled. */
  readonly isComplete: boolean;
  readonly portions: number;
  /** How many of them were not the same in both. */
  readonly copied: number;
};

/**
 * Copies a store into another database, spread over the shards of another cluster, while services answer from the old
 * one. Run again it copies only what is not the same in both. The copy has no rollups, and no service opens it, until
 * the last run has rebuilt them by the views and compared all rows once more.
 * @throws StoreError when the target is a store already, or the source has changed during the last run.
 */
export async function rebalance(options: RebalanceOptions): Promise<Rebalanced> {
  const { source: from, target: to, isLast, signal } = options;
  const open = (connection: ClusterConnection) => connectCluster(connection, "noisefloor-rebalance", LONG_REQUEST_MS);
  const client = open(from);
  // A client takes no database that does not exist.
  for (const server of (await connectionsOfCluster(to)).flat()) await createDatabase(server);
  const made = open(to);
  try {
    const migrations = await readMigrations(options.migrations);
    await assertCurrentSchema(client, migrations);
    await assertPlacement(client);
    const retentionDays = await readRetention(client);
    await prepare(made, { ...options, retentionDays });

    const source: Source = { client, cluster: { name: from.cluster, database: from.database }, retentionDays };
    const target: Target = { shards: await readShards(client, to.cluster), clients: await made.owners() };
    const portions = await readPortions(source, target);
    let copied = 0;
    const copy = async (portion: Portion) => {
      if (await isCopied(portion, source, target)) return;
      await copyPortion(portion, source, target);
      copied++;
    };
    const isCopiedWhole = await eachPortion(
      portions,
      target,
      signal,
      copy,
      progressOf(options, "comparing and copying"),
    );
    const isComplete = isCopiedWhole && (!isLast || (await finish(source, { ...target, made }, options)));
    return { isComplete, portions: portions.length, copied };
  } finally {
    await client.close();
    await made.close();
  }
}

const progressOf =
  ({ onProgress = () => {} }: Pick<RebalanceOptions, "onProgress">, step: RebalanceStep) =>
  (done: number, total: number) =>
    onProgress(step, done, total);

/**
 * Makes the database of each server that its part of the copy goes into, without the views that fill rollups: what is
 * copied twice would be in them twice, and what has changed since then in both ways.
 * @throws StoreError when it is a store already.
 */
async function prepare(
  made: ClickHouseClient,
  { target, migrations: directory, retentionDays }: RebalanceOptions & { readonly retentionDays: number },
): Promise<void> {
  const servers = (await made.servers()).flat();
  const migrations = await readMigrations(directory);
  const unfinished = await Promise.all(servers.map((server) => readUnfinished(server)));
  const applied = await Promise.all(servers.map((server) => readAppliedOrNone(server, migrations)));
  // One that was killed at its end may have left some servers without the marker.
  if (!unfinished.includes("rebalance") && applied.some(({ length }) => length > 0)) {
    throw new StoreError(
      `the database ${target.database} is a store already: set CLICKHOUSE_DATABASE to the name of a new one`,
    );
  }
  for (const server of servers) await putMarker(server, "rebalance");
  if (applied.some(({ length }) => length !== migrations.length)) {
    await migrateCluster(target, directory, { isForRestore: true });
  }
  for (const server of servers) {
    for (const view of viewsOf(migrations)) await server.command({ query: `DROP VIEW IF EXISTS ${view} SYNC` });
  }
  for (const shard of await made.owners()) await applyRetention(shard, retentionDays);
}

async function readAppliedOrNone(client: ClickHouseClient, migrations: readonly Migration[]) {
  try {
    return await readApplied(client, migrations);
  } catch (error) {
    if (isUnknownTable(error)) return [];
    throw error;
  }
}

/** Makes a store of what has been copied. @returns false when it was cancelled. */
async function finish(
  source: Source,
  { made, ...target }: Target & { readonly made: ClickHouseClient },
  options: RebalanceOptions,
): Promise<boolean> {
  await migrateCluster(options.target, options.migrations, { isForRestore: true });
  const servers = (await made.servers()).flat();
  for (const server of servers) await copyReferenceTables(server, source.cluster);
  if (!(await rebuildAll(target, options))) return false;
  const assertSame = async (portion: Portion) => {
    if (await isCopied(portion, source, target)) return;
    throw new StoreError(
      `${portion.table} changed while it was copied: stop the intake and every command that writes, then run it again`,
    );
  };
  const portions = await readPortions(source, target);
  const progress = progressOf(options, "comparing again");
  if (!(await eachPortion(portions, target, options.signal, assertSame, progress))) return false;
  for (const server of servers) await removeMarker(server, "rebalance");
  return true;
}

/** One portion after the other on each shard, all shards side by side. @returns false when it was cancelled. */
async function eachPortion(
  portions: readonly Portion[],
  { clients }: Target,
  signal: AbortSignal,
  work: (portion: Portion) => Promise<void>,
  onProgress: (done: number, total: number) => void,
): Promise<boolean> {
  let done = 0;
  await onAllServers(clients, signal, async (_, shard, stop) => {
    for (const portion of portions) {
      if (portion.shard !== shard) continue;
      if (stop.aborted) return;
      await work(portion);
      onProgress(++done, portions.length);
    }
  });
  return !signal.aborted;
}

/** Fills the rollups of every shard from its observations. @returns false when it was cancelled. */
async function rebuildAll({ clients }: Target, { signal, ...options }: RebalanceOptions): Promise<boolean> {
  const progress = sumProgress(clients.length, progressOf(options, "rebuilding rollups"));
  await onAllServers(clients, signal, async (shard, index, stop) => {
    for (const table of DERIVED_TABLES) await shard.command({ query: `TRUNCATE TABLE ${table}` });
    await fillRollups(shard, DERIVED_TABLES, { signal: stop, onProgress: progress(index) });
  });
  return !signal.aborted;
}
