import { z } from "zod";
import { type ClickHouseClient, type ClickHouseConnection, connect, LONG_REQUEST_MS } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
import { onAllServers, sumProgress } from "../cluster/all-servers.ts";
import { countMisplaced } from "../cluster/placement.ts";
import { copyReferenceTables } from "../cluster/reference-tables.ts";
import { readShards } from "../cluster/servers.ts";
import { applyDurability, readDurability } from "../schema/durability.ts";
import { migrate } from "../schema/migrate.ts";
import { readRetention } from "../schema/retention.ts";
import { TABLES } from "../schema/tables.ts";
import { readUnfinished } from "../schema/unfinished-marker.ts";
import { type ObservationSummary, summarizeObservations } from "../tables/observations.ts";
import { checkParts } from "./check-parts.ts";
import { BackupError } from "./errors.ts";
import { type KeyChanges, keepRevocations } from "./key-revocations.ts";
import { type LoadOptions, loadBackup, settleRetention } from "./load-backup.ts";
import { type BackupPart, namingShard, partsOf } from "./parts.ts";
import type { BackupPlace } from "./place.ts";
import { rebuildRollups } from "./rebuild-rollups.ts";
import { openScratchDatabase, type ScratchDatabase, scratchNameOf } from "./scratch-database.ts";
import { preparedNames, type ServerWork, sharePrepared } from "./share-prepared.ts";
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

/**
 * Replaces a store by a backup. The backup is loaded into a scratch database, migrated to our schema and checked to the
 * last byte; its rollups are rebuilt from its observations; only then its tables are exchanged with the store's. An
 * error before that leaves the store as it was. An interrupted exchange leaves a marker, with which no service starts
 * until a restore has ended. Tables that the store has lost are created again; a user's own tables are left alone,
 * there and in the backup. On a cluster every shard gets its own backup, and none is exchanged before all are ready.
 * @returns what the store holds now; undefined when it was cancelled, which also leaves the store as it was.
 * @throws BackupError, or HoldsDataError.
 */
export async function restoreDatabase(
  connection: ClickHouseConnection,
  from: BackupPlace,
  options: RestoreOptions,
): Promise<Restored | undefined> {
  const { database } = connection;
  const parts = await partsOf(connection, from);
  const scratch = scratchNameOf(database);
  const open = (to: ClickHouseConnection) => connect(to, "noisefloor-restore", LONG_REQUEST_MS);
  const openServer = (to: ClickHouseConnection): ServerWork => ({
    connection: to,
    server: open({ ...to, database: "default" }),
    prepared: open({ ...to, database: scratch }),
    live: open(to),
  });
  const shards = parts.map(
    (part): ShardWork => ({
      ...part,
      ...openServer(part.connection),
      others: part.replicas.filter((replica) => replica !== part.connection).map(openServer),
    }),
  );
  const servers = shards.map(({ server }) => server);
  const all = shards.flatMap((shard) => [shard, ...shard.others]);
  const scratches: ScratchDatabase[] = [];
  try {
    // Data that an interrupted restore has mixed are not worth keeping.
    const unfinished = await Promise.all(servers.map((server) => readUnfinished(server, database)));
    const mayReplace = options.replace || unfinished.includes("restore");
    const assertReplaceable = async () => {
      if (!mayReplace) await assertNoRows(servers, database);
    };
    await assertReplaceable();
    for (const each of all) scratches.push(await openScratchDatabase(each.connection));
    return await restoreThrough({ connection, scratch, shards, assertReplaceable }, options);
  } finally {
    // A failure here must not hide how the restore ended; the next start drops what is left.
    for (const one of scratches) await one.close().catch(() => {});
    for (const { server, prepared, live } of all) {
      for (const client of [server, prepared, live]) await client.close();
    }
  }
}

/** The part of a shard, which one of its servers prepares. */
type ShardWork = BackupPart & ServerWork & { readonly others: readonly ServerWork[] };

type Work = {
  /** Of the store, which may be a cluster. */
  readonly connection: ClickHouseConnection;
  /** The name of the scratch databases, which are still empty. */
  readonly scratch: string;
  readonly shards: readonly ShardWork[];
  /** @throws HoldsDataError */
  readonly assertReplaceable: () => Promise<void>;
};

async function restoreThrough(work: Work, options: RestoreOptions): Promise<Restored | undefined> {
  const { connection, scratch, shards, assertReplaceable } = work;
  const isLoaded = await onEachShard(shards, "reading", options, ({ server, place, ...part }, own) =>
    loadBackup(server, { ...part.connection, database: scratch }, place, own),
  );
  if (!isLoaded) return undefined;
  if (!(await onEachShard(shards, "checking", options, ({ prepared }, own) => checkParts(prepared, own)))) {
    return undefined;
  }
  const isRebuilt = await onEachShard(shards, "rebuilding rollups", options, ({ prepared }, own) =>
    rebuildRollups(prepared, scratch, own),
  );
  if (!isRebuilt) return undefined;
  if (!(await makeOneStore(work, options))) return undefined;
  const summary = addUp(await Promise.all(shards.map(({ prepared }) => summarizeObservations(prepared))));
  if (options.signal.aborted) return undefined;

  await options.onStep?.("swapping tables");
  await migrate(connection, options.migrations, { isForRestore: true });
  for (const shard of shards) {
    await applyDurability(shard.prepared, await readDurability(shard.live));
    await sharePrepared(shard, scratch);
  }
  // Checked again: loading took its time, and a service may have started meanwhile.
  await assertReplaceable();
  let keys: KeyChanges = { revoked: 0, lost: 0 };
  for (const { server } of shards.flatMap((shard) => [shard, ...shard.others])) {
    // Every server has all keys, so each says the same.
    keys = await keepRevocations(server, scratch, connection.database);
  }
  const swaps = shards.flatMap((shard) => {
    const names = preparedNames(shard);
    return [shard, ...shard.others].map(({ live }) => ({ live, names }));
  });
  await swapTables(swaps, scratch);
  return { ...summary, keys };
}

/** One step on all shards at once. @returns false when it was cancelled. */
async function onEachShard(
  shards: readonly ShardWork[],
  step: RestoreStep,
  options: RestoreOptions,
  work: (shard: ShardWork, options: RestoreOptions) => Promise<boolean>,
): Promise<boolean> {
  await options.onStep?.(step);
  const progress = sumProgress(shards.length, options.onProgress ?? (() => {}));
  let isWhole = true;
  await onAllServers(shards, options.signal, async (shard, index, signal) => {
    const own = { ...options, signal, onProgress: progress(index) };
    if (!(await work(shard, own).catch(namingShard(shard)))) isWhole = false;
  });
  return isWhole;
}

/**
 * Makes sure that the parts of a cluster's backup fit together: their shards were copied one beside the other, not at
 * the same moment, and every server has to have the same tags, networks, workspaces, keys and retention.
 * @returns false when it was cancelled.
 * @throws BackupError when addresses are on another shard than the cluster's configuration says.
 */
async function makeOneStore(
  { connection: { cluster }, scratch, shards }: Work,
  { signal, migrations }: RestoreOptions,
): Promise<boolean> {
  const [first, ...others] = shards;
  if (cluster === undefined || first === undefined) return true;
  const kept = await Promise.all(shards.map(({ prepared }) => readRetention(prepared)));
  const retentionDays = Math.max(...kept);
  for (const [index, { prepared }] of shards.entries()) {
    if (kept[index] !== retentionDays && !(await settleRetention(prepared, { retentionDays, signal }))) return false;
  }
  for (const replica of shards.flatMap((shard) => shard.others)) {
    await migrate({ ...replica.connection, database: scratch }, migrations, { isForRestore: true });
  }
  const source = { name: cluster, database: scratch, replica: first.replicas.indexOf(first.connection) };
  for (const { prepared } of [...first.others, ...others.flatMap((shard) => [shard, ...shard.others])]) {
    await copyReferenceTables(prepared, source);
  }
  const layout = await readShards(first.server, cluster);
  const counts = await Promise.all(shards.map(({ prepared }, index) => countMisplaced(prepared, layout, index)));
  const misplaced = counts.reduce((sum, one) => sum + one, 0);
  if (misplaced === 0) return true;
  throw new BackupError(
    `the backup has ${misplaced} addresses on another shard than the cluster's configuration says: give remote_servers ` +
      "the order and the weights with which it was made, restore it, and then rebalance (docs/scaling.md)",
  );
}

function addUp(shards: readonly ObservationSummary[]): ObservationSummary {
  return shards.reduce((all, one) => ({
    observations: all.observations + one.observations,
    expired: all.expired + one.expired,
    from: least([all.from, one.from]),
    to: greatest([all.to, one.to]),
    retentionDays: all.retentionDays,
  }));
}

const known = (times: readonly (number | undefined)[]) => times.filter((time) => time !== undefined);
const least = (times: readonly (number | undefined)[]) => known(times).toSorted((a, b) => a - b)[0];
const greatest = (times: readonly (number | undefined)[]) => known(times).toSorted((a, b) => b - a)[0];

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
