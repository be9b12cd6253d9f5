import { chunksOf } from "@noisefloor/domain/chunks.ts";
import { HOUR_MS, monthAt } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { waitForInserts } from "../client/running-inserts.ts";
import { identifier, literal, type TablePlace } from "../client/sql-text.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { DERIVED_TABLES, TRANSIENT_TABLES } from "../schema/tables.ts";
import { type ObservationSlice, sliceObservations } from "./slices.ts";
import { fillRollup, type RollupView, readRollupView } from "./views.ts";

/**
 * The feed of what was added begins anew, with what is stored from now on: readers that find another table read the
 * rollups first.
 */
const REPLACED_TABLES = [...DERIVED_TABLES, ...TRANSIENT_TABLES];

/** Milliseconds since 1970 UTC; `to` exclusive. */
export type TimeRange = { readonly from: number; readonly to: number };

export type ReplaceOptions = {
  /** The times whose observations have lost tags, or are gone. */
  readonly stale: TimeRange;
  readonly signal?: AbortSignal | undefined;
  /** Called when another part of the work is done. */
  readonly onProgress?: (done: number, total: number) => void;
};

/**
 * Replaces the rollups of some times by what the observations say now, exactly, while the intake goes on; of several
 * owners one after the other, each from its own observations.
 * @returns whether it was done; false when it was aborted.
 */
export async function replaceRollups(client: ClickHouseClient, options: ReplaceOptions): Promise<boolean> {
  for (const owner of await client.owners()) if (!(await replaceOn(owner, options))) return false;
  return true;
}

/**
 * Replaces a rollup on one owner of rows, all of whose servers must be reachable. A second table gets all new rows
 * through a view of its own, then the rows of before; then the tables are exchanged in one statement. States may come
 * twice: that is what makes the overlap harmless.
 * @returns whether it was done; false when it was aborted, and then nothing has changed.
 */
async function replaceOn(owner: ClickHouseClient, options: ReplaceOptions): Promise<boolean> {
  const { signal, onProgress = () => {} } = options;
  const servers = (await owner.servers()).flat();
  await dropSeconds(servers);
  try {
    const { database } = await runForOne(owner, currentDatabase, {});
    const views = new Map<string, RollupView>();
    for (const table of REPLACED_TABLES) views.set(table, await openSecond(owner, servers, { database, table }));
    await waitForInserts(servers);
    // What another server stored before it had the second tables.
    await owner.sync(["observations", ...DERIVED_TABLES]);
    const slices = await sliceObservations(owner);
    const steps = [...views].flatMap(([table, view]) => {
      if (TRANSIENT_TABLES.includes(table)) return [];
      const times = staleTimesOf(table, options.stale);
      return [{ table, view, times, fills: fillsOf(slices, times) }];
    });
    const total = steps.reduce((sum, { fills }) => sum + fills.length, 0);
    let done = 0;
    for (const { table, view, times, fills } of steps) {
      await attachOthers(owner, table, times);
      for (const where of fills) {
        if (signal?.aborted) return false;
        await fillRollup(owner, { table: second(table), view, where });
        onProgress(++done, total);
      }
    }
    await owner.sync(REPLACED_TABLES.map(second));
    const pairs = REPLACED_TABLES.map((table) => `${identifier(table)} AND ${identifier(second(table))}`);
    const { at } = await runForOne(owner, serverTime, {});
    for (const server of servers) await server.command({ query: `EXCHANGE TABLES ${pairs.join(", ")}` });
    await waitForInserts(servers);
    await owner.sync(["observations"]);
    await fillSince(owner, { at, views });
    return true;
  } finally {
    await dropSeconds(servers);
  }
}

const serverTime = defineQuery({
  name: "server-time",
  sql: "SELECT toUnixTimestamp(now()) AS at",
  params: z.object({}),
  row: z.object({ at: z.int() }),
});

const addressesSince = defineQuery({
  name: "addresses-since",
  sql: `SELECT DISTINCT toString(source_ip) AS ip FROM ${OBSERVATIONS} WHERE _part IN (
      SELECT name FROM system.parts
      WHERE database = currentDatabase() AND table = 'observations' AND active AND modification_time >= {at:UInt32})`,
  params: z.object({ at: z.int() }),
  row: z.object({ ip: z.string() }),
});

/** Max bytes of the addresses in one statement; the server parses 256 KiB. */
const LIST_BYTES = 100_000;

/**
 * Fills the rollups with all observations of the addresses that were stored since a time on the server. An insert looks
 * up the tables of its views one after the other: one that was under way while the tables were exchanged may have found
 * the old table by both names.
 */
async function fillSince(
  owner: ClickHouseClient,
  { at, views }: { at: number; views: ReadonlyMap<string, RollupView> },
): Promise<void> {
  const addresses = (await run(owner, addressesSince, { at })).map(({ ip }) => literal(ip));
  for (const some of chunksOf(addresses, ({ length }) => length + 2, { bytes: LIST_BYTES })) {
    const where = `source_ip IN (${some.join(", ")})`;
    for (const [table, view] of views) {
      await fillRollup(owner, { table, view, where });
    }
  }
}

const second = (table: string) => `${table}_replacing`;
const time = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`;

/** Makes an empty table like a rollup's, and the view that fills it from now on. */
async function openSecond(
  owner: ClickHouseClient,
  servers: readonly ClickHouseClient[],
  { database, table }: TablePlace,
): Promise<RollupView> {
  await owner.createAlike(table, { database, table: second(table) });
  let view: RollupView | undefined;
  for (const server of servers) {
    view = await readRollupView(server, table);
    const [name, target] = [identifier(`${second(table)}_mv`), identifier(second(table))];
    await server.command({ query: `CREATE MATERIALIZED VIEW ${name} TO ${target} AS ${view.select}` });
  }
  if (view === undefined) throw new RangeError("an owner without servers");
  return view;
}

/** The view goes first: an insert under way whose table is gone would fail, and be sent again. */
async function dropSeconds(servers: readonly ClickHouseClient[]): Promise<void> {
  const onEach = async (query: string, clickhouse_settings = {}) => {
    for (const server of servers) await server.command({ query, clickhouse_settings });
  };
  for (const table of REPLACED_TABLES) await onEach(`DROP VIEW IF EXISTS ${identifier(`${second(table)}_mv`)} SYNC`);
  await waitForInserts(servers);
  for (const table of REPLACED_TABLES) {
    await onEach(`DROP TABLE IF EXISTS ${identifier(second(table))} SYNC`, DROP_ANY_SIZE);
  }
}

/** Without these the server does not drop a table of more than 50 GB, as a likely mistake. */
const DROP_ANY_SIZE = { max_table_size_to_drop: "0", max_partition_size_to_drop: "0" } as const;

/** The time that a row of `tag_addresses` covers. */
const BLOCK_MS = 64 * HOUR_MS;

/** The times of a rollup's partitions that are partly stale. A rollup of last times has one partition for all. */
function staleTimesOf(table: string, { from, to }: TimeRange): TimeRange {
  switch (table) {
    case "tag_activity_hourly":
      return { from: monthAt(from), to: monthAt(to - 1, 1) };
    case "tag_addresses":
      return { from: firstBlockOf(monthAt(blockOf(from))), to: firstBlockOf(monthAt(blockOf(to - 1), 1)) };
    default:
      return { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
  }
}

const blockOf = (ms: number) => Math.floor(ms / BLOCK_MS) * BLOCK_MS;
const firstBlockOf = (month: number) => Math.ceil(month / BLOCK_MS) * BLOCK_MS;

/** SQL: the conditions for the observations of some times, slice by slice. */
function fillsOf(slices: readonly ObservationSlice[], { from, to }: TimeRange): string[] {
  return slices.flatMap(({ where, month }) => {
    if (month.from >= to || month.to <= from) return [];
    const conditions = [where];
    if (month.from < from) conditions.push(`observed_at >= ${time(from)}`);
    if (month.to > to) conditions.push(`observed_at < ${time(to)}`);
    return conditions.join(" AND ");
  });
}

const currentDatabase = defineQuery({
  name: "current-database",
  sql: "SELECT currentDatabase() AS database",
  params: z.object({}),
  row: z.object({ database: z.string() }),
});

const partitions = defineQuery({
  name: "rollup-partitions",
  sql: `SELECT DISTINCT partition_id AS id, partition FROM system.parts
    WHERE database = currentDatabase() AND table = {table:String} AND active ORDER BY id`,
  params: z.object({ table: z.string() }),
  row: z.object({ id: z.string(), partition: z.string() }),
});

/** Links the partitions that are not stale, which copies nothing. A partition's name is its first day. */
async function attachOthers(client: ClickHouseClient, table: string, times: TimeRange): Promise<void> {
  if (times.from === Number.NEGATIVE_INFINITY) return;
  for (const { id, partition } of await run(client, partitions, { table })) {
    const start = Date.parse(`${partition}T00:00:00Z`);
    const first = table === "tag_addresses" ? firstBlockOf(start) : start;
    if (first >= times.from && first < times.to) continue;
    await client.command({
      query: `ALTER TABLE ${identifier(second(table))} ATTACH PARTITION ID ${literal(id)} FROM ${identifier(table)}`,
    });
  }
}
