import { BackupError } from "@noisefloor/clickhouse/backup/errors.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connection.ts";
import { type ObservationSummary, summarizeObservations } from "@noisefloor/clickhouse/observations/observations.ts";
import { type KeyChanges, keepRevocations } from "@noisefloor/clickhouse/restore/key-revocations.ts";
import { settleRetention } from "@noisefloor/clickhouse/restore/load-backup.ts";
import {
  PREPARATIONS,
  type Restored,
  type RestoreOptions,
  replacementCheck,
} from "@noisefloor/clickhouse/restore/restore.ts";
import {
  openScratchDatabase,
  type ScratchDatabase,
  scratchNameOf,
} from "@noisefloor/clickhouse/restore/scratch-database.ts";
import { openServerWork, type ServerWork } from "@noisefloor/clickhouse/restore/server-work.ts";
import { swapTables } from "@noisefloor/clickhouse/restore/swap-tables.ts";
import { applyDurability, readDurability } from "@noisefloor/clickhouse/schema/durability.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { onAllServers, sumProgress } from "../client/all-servers.ts";
import { readShards } from "../client/servers.ts";
import { countMisplaced } from "../schema/placement.ts";
import { copyReferenceTables } from "../schema/reference-tables.ts";
import { type BackupPart, namingShard } from "./parts.ts";
import { preparedNames, sharePrepared } from "./share-prepared.ts";

/** The store that a backup replaces: a server, or a cluster. */
export type ReplacedStore = {
  readonly connection: ClickHouseConnection;
  /** What each of its shards restores. */
  readonly parts: readonly BackupPart[];
  /** Brings the schema of its database up to date. */
  readonly migrate: () => Promise<unknown>;
};

/**
 * Replaces a store by a backup. Each part of the backup is loaded into a scratch database of its server, migrated to
 * our schema and checked to the last byte; its rollups are rebuilt from its observations; only when all parts are ready,
 * their tables are exchanged with the store's. An error before that leaves the store as it was. An interrupted exchange
 * leaves a marker, with which no service starts until a restore has ended. Tables that the store has lost are created
 * again; a user's own tables are left alone, there and in the backup.
 * @returns what the store holds now; undefined when it was cancelled, which also leaves the store as it was.
 * @throws BackupError, or HoldsDataError.
 */
export async function restoreParts(store: ReplacedStore, options: RestoreOptions): Promise<Restored | undefined> {
  const { database } = store.connection;
  const shards = store.parts.map(
    (part): ShardWork => ({
      ...part,
      ...openServerWork(part.connection),
      others: part.replicas.filter((replica) => replica !== part.connection).map(openServerWork),
    }),
  );
  const servers = shards.map(({ server }) => server);
  const all = shards.flatMap((shard) => [shard, ...shard.others]);
  const scratches: ScratchDatabase[] = [];
  try {
    const assertReplaceable = await replacementCheck(servers, database, options);
    await assertReplaceable();
    for (const each of all) scratches.push(await openScratchDatabase(each.connection));
    return await restoreThrough({ ...store, scratch: scratchNameOf(database), shards, assertReplaceable }, options);
  } finally {
    // A failure here must not hide how the restore ended; the next start drops what is left.
    for (const one of scratches) await one.close().catch(() => {});
    for (const each of all) await each.close();
  }
}

/** The part of a shard, which one of its servers prepares. */
type ShardWork = BackupPart & ServerWork & { readonly others: readonly ServerWork[] };

type Work = ReplacedStore & {
  /** The name of the scratch databases, which are still empty. */
  readonly scratch: string;
  readonly shards: readonly ShardWork[];
  /** @throws HoldsDataError */
  readonly assertReplaceable: () => Promise<void>;
};

async function restoreThrough(work: Work, options: RestoreOptions): Promise<Restored | undefined> {
  const { connection, scratch, shards, assertReplaceable } = work;
  if (!(await prepareAll(shards, options)) || !(await makeOneStore(work, options))) return undefined;
  const summary = addUp(await Promise.all(shards.map(({ prepared }) => summarizeObservations(prepared))));
  if (options.signal.aborted) return undefined;

  await options.onStep?.("swapping tables");
  await work.migrate();
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

/** One step after the other, each on all shards simultaneously. @returns false when it was cancelled. */
async function prepareAll(shards: readonly ShardWork[], options: RestoreOptions): Promise<boolean> {
  for (const { step, run } of PREPARATIONS) {
    await options.onStep?.(step);
    const progress = sumProgress(shards.length, options.onProgress ?? (() => {}));
    let isWhole = true;
    await onAllServers(shards, options.signal, async (shard, index, signal) => {
      const shardOptions = { ...options, signal, onProgress: progress(index) };
      if (!(await run(shard, shard.place, shardOptions).catch(namingShard(shard)))) isWhole = false;
    });
    if (!isWhole) return false;
  }
  return true;
}

/**
 * Makes sure that the parts of a cluster's backup fit together: its shards were copied one beside the other, not at
 * the same moment, and every server has to have the same tags, networks, workspaces, keys and retention.
 * @returns false when it was cancelled.
 * @throws BackupError when addresses are on another shard than the cluster's configuration says.
 */
async function makeOneStore(
  { connection: { cluster }, scratch, shards }: Work,
  { signal, migrations }: RestoreOptions,
): Promise<boolean> {
  const [first, ...others] = shards;
  if (first === undefined || cluster === undefined) return true;
  const retentions = await Promise.all(shards.map(({ prepared }) => readRetention(prepared)));
  const retentionDays = Math.max(...retentions);
  for (const [index, { prepared }] of shards.entries()) {
    if (retentions[index] !== retentionDays && !(await settleRetention(prepared, { retentionDays, signal })))
      return false;
  }
  for (const replica of shards.flatMap((shard) => shard.others)) {
    await migrate({ ...replica.connection, database: scratch }, migrations, {
      isForRestore: true,
      isFilled: true,
    });
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

const presentTimes = (times: readonly (number | undefined)[]) => times.filter((time) => time !== undefined);
const least = (times: readonly (number | undefined)[]) => presentTimes(times).toSorted((a, b) => a - b)[0];
const greatest = (times: readonly (number | undefined)[]) => presentTimes(times).toSorted((a, b) => b - a)[0];
