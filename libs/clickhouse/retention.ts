import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, run } from "./query.ts";

/**
 * How long after a row's time it is deleted, by table. A rollup of an hour or a day outlives its last observation, so
 * that it never vanishes before what it counts.
 */
const TTL_BY_TABLE = {
  observations: (days: number) => `toDateTime(observed_at, 'UTC') + toIntervalDay(${days})`,
  tag_activity_hourly: (days: number) => `(hour + toIntervalHour(1)) + toIntervalDay(${days})`,
  tag_addresses_hourly: (days: number) => `(hour + toIntervalHour(1)) + toIntervalDay(${days})`,
  address_daily: (days: number) => `(day + toIntervalDay(1)) + toIntervalDay(${days})`,
  address_tags: (days: number) => `toDateTime(last_seen, 'UTC') + toIntervalDay(${days})`,
  dead_letters: (days: number) => `toDateTime(received_at, 'UTC') + toIntervalDay(${days})`,
} as const;

const tableDefinitions = defineQuery({
  name: "table-definitions",
  sql: "SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase()",
  params: z.object({}),
  row: z.object({ name: z.string(), create_table_query: z.string() }),
});

/** How long a new store keeps its data when nobody says otherwise; what the migrations say. */
export const DEFAULT_RETENTION_DAYS = 100;

/** For how many days the observations are kept as the store stands. */
export async function readRetention(client: ClickHouseClient): Promise<number> {
  const definition = (await run(client, tableDefinitions, {})).find(({ name }) => name === "observations");
  const days = /\bTTL .*toIntervalDay\((\d+)\)/.exec(definition?.create_table_query ?? "")?.[1];
  return days === undefined ? DEFAULT_RETENTION_DAYS : Number(days);
}

/**
 * Makes every table keep its rows for `days` days. Tables that already do are left alone, for a changed TTL rewrites
 * data. @returns the tables that were changed.
 */
export async function applyRetention(client: ClickHouseClient, days: number): Promise<string[]> {
  if (!Number.isInteger(days) || days < 1)
    throw new RangeError(`retention of ${days} days is not a whole number from 1`);
  const definitions = new Map(
    (await run(client, tableDefinitions, {})).map((row) => [row.name, row.create_table_query]),
  );
  const changed: string[] = [];
  for (const [table, ttlOf] of Object.entries(TTL_BY_TABLE)) {
    const ttl = ttlOf(days);
    if (definitions.get(table)?.includes(`TTL ${ttl}`)) continue;
    await client.command({ query: `ALTER TABLE ${table} MODIFY TTL ${ttl}` });
    changed.push(table);
  }
  return changed;
}
