import { resolve } from "node:path";
import { type MadeBackupRecord, readLastBackup } from "@noisefloor/clickhouse/backup/made-backups.ts";
import type { ClickHouseClient, ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { explainMissingRight } from "@noisefloor/clickhouse/client/errors.ts";
import { countDeadLettersSince, type DeadLetterCount } from "@noisefloor/clickhouse/dead-letters/dead-letter-counts.ts";
import { readServerNote } from "@noisefloor/clickhouse/embedded/embedded-files.ts";
import { isAlive } from "@noisefloor/clickhouse/embedded/start-lock.ts";
import { readLoudestSources } from "@noisefloor/clickhouse/observations/loudest-sources.ts";
import { readNewestReceipt } from "@noisefloor/clickhouse/observations/observations.ts";
import { readStaleRollups } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { assertCurrentSchema, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { readSensorSummaries, type SensorSummary } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { readServerClock, type ServerClock } from "@noisefloor/clickhouse/server/clock.ts";
import { type DiskSpace, floorOf, readDiskSpace } from "@noisefloor/clickhouse/server/disk-space.ts";
import { explainUnusable } from "@noisefloor/clickhouse/server/open.ts";
import { readDailyObservations, readSize, type StoreSize } from "@noisefloor/clickhouse/storage/growth.ts";
import { readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { type ReplicaReport, readReplicas } from "@noisefloor/clickhouse-cluster/client/report.ts";
import { connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { LoudestSource } from "@noisefloor/domain/sensors/own-address.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { MIGRATIONS_DIRECTORY } from "../../paths.ts";
import { SENSOR_PREFIX } from "../../simulation/fleet.ts";
import { formatReason, PROBE_MS, type Probe, probe } from "./probe.ts";

/** What ClickHouse says. A part that the user may not read, or that the schema lacks, has an error of its own. */
export type StoreFacts = {
  readonly clock: ServerClock;
  /** Its value is the number of the last migration. */
  readonly schema: Probe<number>;
  readonly disk: Probe<DiskSpace & { readonly floorBytes: number }>;
  readonly size: Probe<StoreSize>;
  /** Observations that a day brings; undefined while that cannot be known. */
  readonly perDay: Probe<number | undefined>;
  readonly retentionDays: Probe<number>;
  /** Whichever way the newest observation came. */
  readonly newestReceipt: Probe<number | undefined>;
  readonly lastBackup: Probe<MadeBackupRecord | undefined>;
  /** Today's, since midnight UTC, by reason. */
  readonly deadLetters: Probe<readonly DeadLetterCount[]>;
  readonly sensors: Probe<readonly SensorSummary[]>;
  readonly loudestSources: Probe<readonly LoudestSource[]>;
  /** Whether counts still have observations that are gone, as a command was interrupted. */
  readonly isStale: Probe<boolean>;
  /** None of a store without replicas. */
  readonly replicas: Probe<readonly ReplicaReport[]>;
};

export type StoreProbe = {
  /** Where it is; undefined when no process runs the server of the data directory. */
  readonly url: string | undefined;
  readonly isEmbedded: boolean;
  /** The process that runs the embedded server. */
  readonly owner: { readonly pid: number; readonly purpose: string; readonly isAlive: boolean } | undefined;
  readonly facts: Probe<StoreFacts>;
};

/** Asks ClickHouse. The embedded one is asked only while it runs: to start it would take seconds, and change files. */
export async function probeStore({ clickhouse, minFreeDiskBytes }: Settings): Promise<StoreProbe> {
  const { server, dataDir } = clickhouse;
  if (server !== undefined) {
    const describe = (error: unknown) =>
      error instanceof Error ? explainUnusable(server, error) : formatReason(error);
    const facts = await askStore(server, minFreeDiskBytes, describe);
    return { url: server.url, isEmbedded: false, owner: undefined, facts };
  }
  const note = await readServerNote(dataDir);
  if (note === undefined) {
    const error = `no process runs the embedded ClickHouse of ${resolve(dataDir)}`;
    return { url: undefined, isEmbedded: true, owner: undefined, facts: { error } };
  }
  const owner = { pid: note.pid, purpose: note.purpose, isAlive: isAlive(note.pid) };
  const facts = await askStore(note.connection, minFreeDiskBytes);
  return { url: note.connection.url, isEmbedded: true, owner, facts };
}

async function askStore(
  connection: ClickHouseConnection,
  floorBytes: number | undefined,
  describe: (error: unknown) => string = formatReason,
): Promise<Probe<StoreFacts>> {
  // The database may not exist yet.
  const server = connectStore({ ...connection, database: "default" }, "noisefloor-status", PROBE_MS);
  const client = connectStore(connection, "noisefloor-status", PROBE_MS);
  try {
    const [clock, rest] = await Promise.all([
      probe(() =>
        readServerClock(server).catch((error: unknown) => {
          throw new Error(describe(error));
        }),
      ),
      askDatabase(client, floorBytes),
    ]);
    return "error" in clock ? clock : { value: { clock: clock.value, ...rest } };
  } finally {
    void server.close();
    void client.close();
  }
}

async function askDatabase(client: ClickHouseClient, floorBytes: number | undefined) {
  const now = Date.now();
  const ask = <T>(read: () => Promise<T>) => probe(() => read().catch(explain));
  const probes = {
    schema: ask(async () => {
      const migrations = await readMigrations(MIGRATIONS_DIRECTORY);
      await assertCurrentSchema(client, migrations);
      return migrations.at(-1)?.version ?? 0;
    }),
    disk: ask(async () => {
      const space = await readDiskSpace(client);
      if (space instanceof Error) throw space;
      return { ...space, floorBytes: floorBytes ?? floorOf(space) };
    }),
    size: ask(() => readSize(client)),
    perDay: ask(() => readDailyObservations(client, SENSOR_PREFIX)),
    retentionDays: ask(() => readRetention(client)),
    newestReceipt: ask(() => readNewestReceipt(client)),
    lastBackup: ask(() => readLastBackup(client)),
    deadLetters: ask(() => countDeadLettersSince(client, Math.floor(now / DAY_MS) * DAY_MS)),
    sensors: ask(() => readSensorSummaries(client, now)),
    loudestSources: ask(() => readLoudestSources(client, now)),
    isStale: ask(async () => (await readStaleRollups(client)) !== undefined),
    replicas: ask(() => readReplicas(client)),
  };
  return {
    schema: await probes.schema,
    disk: await probes.disk,
    size: await probes.size,
    perDay: await probes.perDay,
    retentionDays: await probes.retentionDays,
    newestReceipt: await probes.newestReceipt,
    lastBackup: await probes.lastBackup,
    deadLetters: await probes.deadLetters,
    sensors: await probes.sensors,
    loudestSources: await probes.loudestSources,
    isStale: await probes.isStale,
    replicas: await probes.replicas,
  };
}

function explain(error: unknown): never {
  throw explainMissingRight(error) ?? new Error(formatReason(error));
}
