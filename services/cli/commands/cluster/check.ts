import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { assertCurrentSchema, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { readOwnShards } from "@noisefloor/clickhouse-cluster/client/client.ts";
import type { Shard } from "@noisefloor/clickhouse-cluster/client/shard.ts";
import type { ReplicaState } from "@noisefloor/clickhouse-cluster/replicas/choose.ts";
import { readReplicaState } from "@noisefloor/clickhouse-cluster/replicas/replica-cache.ts";
import { countMisplaced } from "@noisefloor/clickhouse-cluster/schema/placement.ts";
import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { z } from "zod";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type OutputOptions, show } from "../../framework/output.ts";
import { MIGRATIONS_DIRECTORY } from "../../paths.ts";
import { openConnection } from "../../store/store.ts";

/** What `cluster check` says of a server. `problem` is empty when all is well. */
type ServerReport = {
  readonly shard: number;
  readonly host: string;
  /** `single` without replicas. */
  readonly replica: ReplicaState | "single";
  /** Parts to fetch or to merge as other replicas did. */
  readonly queue: number;
  /** What part of the addresses it should have, and what part of the rows it has, in percent. */
  readonly weight_percent: number;
  readonly rows_percent: number;
  readonly rows: number;
  readonly bytes: number;
  readonly misplaced_addresses: number;
  readonly problem: string;
};

/** `noisefloor cluster check`. */
export async function runClusterCheck(options: OutputOptions, context: CommandContext): Promise<void> {
  const { settings } = context;
  if (settings.clickhouse.server?.cluster === undefined) {
    throw new UserError("CLICKHOUSE_CLUSTER is not set, so ClickHouse is a single server: see docs/scaling.md");
  }
  const { client, close } = await openConnection(settings, { purpose: "look" });
  try {
    const reports = await checkServers(client, (await readOwnShards(client)) ?? []);
    if (reports.some(({ problem }) => problem !== "")) process.exitCode = 1;
    show(options.json ? reports : reports.map(forPeople), options, context);
  } finally {
    await close();
  }
}

const storedRows = defineQuery({
  name: "shard-rows",
  sql: `SELECT sum(rows) AS rows, sum(bytes_on_disk) AS bytes,
      (SELECT toUInt64(sum(queue_size)) FROM system.replicas WHERE database = currentDatabase()) AS queue
    FROM system.parts WHERE active AND database = currentDatabase() AND table = 'observations'`,
  params: z.object({}),
  row: z.object({ rows: z.int(), bytes: z.int(), queue: z.int() }),
});

type Found = Pick<ServerReport, "shard" | "host" | "replica" | "queue" | "rows" | "bytes" | "problem"> & {
  readonly misplaced: number;
};

async function checkServers(client: ClickHouseClient, shards: readonly Shard[]): Promise<ServerReport[]> {
  const migrations = await readMigrations(MIGRATIONS_DIRECTORY);
  const servers = (await client.servers()).flatMap((replicas, shard) =>
    replicas.map((server, replica) => ({ server, shard, host: shards[shard]?.hosts[replica] ?? "" })),
  );
  const found = await Promise.all(
    servers.map(async ({ server, shard, host }): Promise<Found> => {
      const isSingle = shards[shard]?.hosts.length === 1;
      const nothing = { queue: 0, rows: 0, bytes: 0, misplaced: 0 };
      const none = { ...nothing, shard, host, replica: isSingle ? ("single" as const) : ("away" as const) };
      try {
        await assertCurrentSchema(server, migrations);
        const stored = await runForOne(server, storedRows, {});
        const misplaced = await countMisplaced(server, shards, shard);
        const replica = isSingle ? "single" : ((await readReplicaState(server)) ?? "away");
        return { ...none, ...stored, misplaced, replica, problem: problemOf(misplaced, replica) };
      } catch (error) {
        return { ...none, problem: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
  // Replicas have the same rows: of each shard those of the server that has most.
  const rowsOf = (index: number) =>
    Math.max(0, ...found.filter(({ shard }) => shard === index).map(({ rows }) => rows));
  const total = shards.reduce((sum, _, index) => sum + rowsOf(index), 0);
  const weights = shards.reduce((sum, { weight }) => sum + weight, 0);
  const percent = (part: number, whole: number) => (whole === 0 ? 0 : Math.round((part / whole) * 1_000) / 10);
  return found.map(({ shard, misplaced, ...report }) => ({
    ...report,
    shard: shards[shard]?.number ?? 0,
    weight_percent: percent(shards[shard]?.weight ?? 0, weights),
    rows_percent: percent(report.rows, total),
    misplaced_addresses: misplaced,
  }));
}

function problemOf(misplaced: number, replica: ServerReport["replica"]): string {
  if (misplaced > 0) return "addresses of other shards";
  if (replica === "behind") return "lacks rows that other replicas have: it fetches them, if these are there";
  return replica === "alone" ? "has no connection to Keeper" : "";
}

function forPeople(report: ServerReport) {
  const { bytes, misplaced_addresses, weight_percent, rows_percent, problem, replica, queue, shard, host, rows } =
    report;
  return {
    shard,
    host,
    rows,
    ...(replica === "single" ? {} : { replica, queue }),
    "on disk": formatBytes(bytes),
    "has %": rows_percent,
    "should have %": weight_percent,
    "addresses of others": misplaced_addresses,
    state: problem === "" ? "ok" : problem,
  };
}
