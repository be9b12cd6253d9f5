import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { serversOf } from "@noisefloor/clickhouse/cluster/cluster.ts";
import { countMisplaced } from "@noisefloor/clickhouse/cluster/placement.ts";
import { readOwnShards, type Shard } from "@noisefloor/clickhouse/cluster/servers.ts";
import { assertCurrentSchema, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { z } from "zod";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { formatBytes, type OutputOptions, show } from "../../framework/output.ts";
import { MIGRATIONS_DIRECTORY } from "../../paths.ts";
import { openConnection } from "../../store.ts";

/** What `cluster check` says of a shard. `problem` is empty when all is well. */
type ShardReport = {
  readonly shard: number;
  readonly host: string;
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
    const reports = await checkShards(client, (await readOwnShards(client)) ?? []);
    if (reports.some(({ problem }) => problem !== "")) process.exitCode = 1;
    show(options.json ? reports : reports.map(forPeople), options, context);
  } finally {
    await close();
  }
}

const storedRows = defineQuery({
  name: "shard-rows",
  sql: `SELECT sum(rows) AS rows, sum(bytes_on_disk) AS bytes FROM system.parts
    WHERE active AND database = currentDatabase() AND table = 'observations'`,
  params: z.object({}),
  row: z.object({ rows: z.int(), bytes: z.int() }),
});

async function checkShards(client: ClickHouseClient, shards: readonly Shard[]): Promise<ShardReport[]> {
  const migrations = await readMigrations(MIGRATIONS_DIRECTORY);
  const servers = await serversOf(client);
  const found = await Promise.all(
    servers.map(async (server, index) => {
      try {
        await assertCurrentSchema(server, migrations);
        const [stored] = await run(server, storedRows, {});
        const misplaced = await countMisplaced(server, shards, index);
        return { rows: 0, bytes: 0, ...stored, misplaced, problem: misplaced > 0 ? "addresses of other shards" : "" };
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        return { rows: 0, bytes: 0, misplaced: 0, problem };
      }
    }),
  );
  const rows = found.reduce((sum, one) => sum + one.rows, 0);
  const weights = shards.reduce((sum, { weight }) => sum + weight, 0);
  const percent = (part: number, whole: number) => (whole === 0 ? 0 : Math.round((part / whole) * 1_000) / 10);
  return shards.map(({ number, host, weight }, index) => {
    const one = found[index];
    return {
      shard: number,
      host,
      weight_percent: percent(weight, weights),
      rows_percent: percent(one?.rows ?? 0, rows),
      rows: one?.rows ?? 0,
      bytes: one?.bytes ?? 0,
      misplaced_addresses: one?.misplaced ?? 0,
      problem: one?.problem ?? "",
    };
  });
}

function forPeople({ bytes, misplaced_addresses, weight_percent, rows_percent, problem, ...report }: ShardReport) {
  return {
    ...report,
    "on disk": formatBytes(bytes),
    "has %": rows_percent,
    "should have %": weight_percent,
    "addresses of others": misplaced_addresses,
    state: problem === "" ? "ok" : problem,
  };
}
