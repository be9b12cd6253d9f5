import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { StoreError } from "../client/errors.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";

const sensorRows = defineQuery({
  name: "sensor-rows",
  sql: `SELECT count() AS observations, currentDatabase() AS database
    FROM observations FINAL WHERE startsWith(sensor_id, {prefix:String})`,
  params: z.object({ prefix: z.string() }),
  row: z.object({ observations: z.int(), database: z.string() }),
});

const viewSelect = defineQuery({
  name: "rollup-view",
  sql: `SELECT as_select AS select,
      (SELECT groupArray(name) FROM system.columns WHERE database = currentDatabase() AND table = {view:String}) AS columns
    FROM system.tables WHERE database = currentDatabase() AND name = {view:String}`,
  params: z.object({ view: z.string() }),
  row: z.object({ select: z.string(), columns: z.array(z.string()) }),
});

/** A rollup: its rows and observations that belong together have this column, or expression, in common. */
const ROLLUPS = [
  { table: "tag_activity_hourly", column: "hour", of: "toStartOfHour(observed_at, 'UTC')" },
  { table: "tag_addresses", column: "source_ip", of: "source_ip" },
  { table: "address_tags", column: "source_ip", of: "source_ip" },
] as const;

/** What observations to be removed have in common with rollups; it exists during a removal only. */
const AFFECTED = "removal_keys";

/**
 * Deletes all observations of sensors whose ids begin with a text, and what rollups know of them. Of rollups, the rows
 * that these observations are in are deleted and filled again from the others. While that lasts, answers lack some of
 * the others. The observations themselves go last: interrupted, the same call does it all again.
 * @returns how many observations were deleted.
 */
export async function removeSensors(client: ClickHouseClient, prefix: string): Promise<number> {
  const { observations, database } = await runForOne(client, sensorRows, { prefix });
  if (observations === 0) return 0;
  const isRemoved = `startsWith(sensor_id, ${literal(prefix)})`;
  const affected = (column: string) => `(SELECT ${column} FROM ${AFFECTED})`;
  await client.command({ query: `DROP TABLE IF EXISTS ${AFFECTED} SYNC` });
  await client.command({
    query: `CREATE TABLE ${AFFECTED} (source_ip IPv4, hour DateTime('UTC')) ENGINE = MergeTree ORDER BY source_ip
      AS SELECT DISTINCT source_ip, toStartOfHour(observed_at, 'UTC') AS hour FROM observations WHERE ${isRemoved}`,
  });
  for (const { table, column, of } of ROLLUPS) {
    await mutate(client, `ALTER TABLE ${table} DELETE WHERE ${column} IN ${affected(column)}`);
    // What another process stores in the meantime comes twice, which changes nothing.
    await refill(client, { table, database, isWanted: `NOT ${isRemoved} AND ${of} IN ${affected(column)}` });
  }
  await mutate(client, `ALTER TABLE address_changes DELETE WHERE source_ip IN ${affected("source_ip")}`);
  // A mutation of this table makes the services load it anew: one more, now that it is complete.
  await mutate(client, "ALTER TABLE address_tags DELETE WHERE 0");
  await mutate(client, `ALTER TABLE observations DELETE WHERE ${isRemoved}`);
  await client.command({ query: `DROP TABLE ${AFFECTED} SYNC` });
  return observations;
}

/** Resolves when it is done. */
async function mutate(client: ClickHouseClient, query: string): Promise<void> {
  await client.command({ query, clickhouse_settings: { mutations_sync: "1", log_comment: "remove-sensors" } });
}

type Refill = { readonly table: string; readonly database: string; readonly isWanted: string };

/** Fills a rollup from some of the observations, by the SELECT of its view. */
async function refill(client: ClickHouseClient, { table, database, isWanted }: Refill): Promise<void> {
  const [view] = await run(client, viewSelect, { view: `${table}_mv` });
  if (view === undefined) throw new StoreError(`the view ${table}_mv is missing`);
  const filters = `{${literal(`${database}.observations`)}: ${literal(isWanted)}}`;
  await client.command({
    query: `INSERT INTO ${identifier(table)} (${view.columns.map(identifier).join(", ")}) ${view.select}
      SETTINGS additional_table_filters = ${filters}, insert_deduplicate = 0`,
    clickhouse_settings: { log_comment: "remove-sensors" },
  });
}
