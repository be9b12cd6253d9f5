import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { literal } from "@noisefloor/clickhouse/client/sql-text.ts";
import { OWN_DATABASE, rowsOf } from "@noisefloor/clickhouse/client/table-names.ts";
import { COPIED_TABLES, SPREAD_TABLES, TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { z } from "zod";
import { type Shard, slotsOf } from "../client/shard.ts";
import { copySettings, type NamedCluster, storedColumns, tableOnCluster } from "../schema/reference-tables.ts";

/** Tables whose rows are on one shard each, and are not derived from others. */
const SHARDED_COPIES = COPIED_TABLES.filter((table) => SPREAD_TABLES.includes(table));

/** One part of the work: the rows of a partition that belong to one server. */
export type Portion = {
  readonly table: string;
  /** As `system.parts` has it. */
  readonly partition: string;
  /** The index of the shard. */
  readonly shard: number;
};

/** Where rows come from: a cluster, and a client of it. */
export type Source = {
  readonly client: ClickHouseClient;
  readonly cluster: NamedCluster;
  readonly retentionDays: number;
};

/** Where they go: the shards and, in their order, a client of each one. */
export type Target = { readonly shards: readonly Shard[]; readonly clients: readonly ClickHouseClient[] };

const partitions = defineQuery({
  name: "sharded-partitions",
  sql: `SELECT table, partition_id AS partition FROM system.parts
    WHERE active AND database = ${OWN_DATABASE} AND table IN (${SHARDED_COPIES.map(literal).join(", ")})
    GROUP BY table, partition ORDER BY table, partition`,
  combine: (shards) => `SELECT DISTINCT table, partition FROM ${shards} ORDER BY table, partition`,
  params: z.object({}),
  row: z.object({ table: z.string(), partition: z.string() }),
});

/** Every portion that the source or the target has rows of, or may have. */
export async function readPortions({ client }: Source, { clients, shards }: Target): Promise<readonly Portion[]> {
  const found = await Promise.all([client, ...clients].map((each) => run(each, partitions, {})));
  const distinct = new Map(found.flat().map((one) => [`${one.table} ${one.partition}`, one]));
  // A shard without weight has no rows.
  const filled = shards.flatMap(({ weight }, shard) => (weight > 0 ? [shard] : []));
  return [...distinct.values()].flatMap((one) => filled.map((shard) => ({ ...one, shard })));
}

/** SQL: rows of one partition that are on one shard, those that replaced others without those. */
function selectRows(
  { table, partition, shard }: Portion,
  shards: readonly Shard[],
  columns: string,
  from: string,
): string {
  const owners = slotsOf(shards);
  const slots = owners.flatMap((owner, slot) => (owner === shard ? [slot] : []));
  return `SELECT ${columns} FROM ${from} FINAL
    WHERE _partition_id = ${literal(partition)}
      AND (${TABLES[table]?.spreadBy}) % ${owners.length} IN (${slots.join(", ")})`;
}

/** Rows that end within this time are not compared: one of two servers may have deleted them already. */
const ENDING_SECONDS = 600;

/**
 * Two sets of rows are the same when their numbers and both halves of the digest are. As text: the hash of a row with a
 * NULL would be NULL.
 */
const contentOf = (portion: Portion, { shards }: Target, retentionDays: number) => {
  const end = TABLES[portion.table]?.ageing?.from;
  const lasting = end === undefined ? "1" : `${end} + toIntervalDay(${retentionDays}) > now() + ${ENDING_SECONDS}`;
  return defineQuery({
    name: "portion-content",
    sql: `SELECT count() AS rows, groupBitXor(hash % 4294967296) AS low, groupBitXor(intDiv(hash, 4294967296)) AS high
      FROM (${selectRows(portion, shards, "cityHash64(toString(tuple(*))) AS hash", rowsOf(portion.table))} AND ${lasting})`,
    combine: (all) =>
      `SELECT sum(part.rows) AS rows, groupBitXor(part.low) AS low, groupBitXor(part.high) AS high FROM ${all} AS part`,
    params: z.object({}),
    row: z.object({ rows: z.int(), low: z.int(), high: z.int() }),
  });
};

/** Whether the target has the same rows of a portion as the source. */
export async function isCopied(portion: Portion, source: Source, target: Target): Promise<boolean> {
  const content = contentOf(portion, target, source.retentionDays);
  const [wanted, found] = await Promise.all([
    runForOne(source.client, content, {}),
    runForOne(serverOf(target, portion), content, {}),
  ]);
  return wanted.rows === found.rows && wanted.low === found.low && wanted.high === found.high;
}

/** Replaces what the target has of a portion. Can be repeated, also after it ended in the middle. */
export async function copyPortion(portion: Portion, source: Source, target: Target): Promise<void> {
  const server = serverOf(target, portion);
  const { table, partition } = portion;
  await server.command({ query: `ALTER TABLE ${table} DROP PARTITION ID ${literal(partition)}` });
  const columns = await storedColumns(server, table);
  const rows = selectRows(portion, target.shards, columns, tableOnCluster(source.cluster, table));
  await server.command({
    query: `INSERT INTO ${table} (${columns}) ${rows}`,
    clickhouse_settings: copySettings(),
  });
}

function serverOf({ clients }: Target, { shard }: Portion): ClickHouseClient {
  const server = clients[shard];
  if (server === undefined) throw new RangeError(`there is no shard ${shard}`);
  return server;
}
