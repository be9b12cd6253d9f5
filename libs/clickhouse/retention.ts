import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { StoreError } from "./errors.ts";
import { defineQuery, run } from "./query.ts";
import { type Watched, type WatchOptions, watch } from "./watch.ts";

/**
 * The tables whose rows age, each with the time that counts and how long after it a row is deleted. A rollup of an hour
 * or a day outlives its last observation, so that it never vanishes before what it counts. The observations come last:
 * their table says what holds, and a change that breaks off must not look done.
 */
export const AGEING_TABLES = {
  tag_activity_hourly: { time: "hour", ttl: (days: number) => `(hour + toIntervalHour(1)) + toIntervalDay(${days})` },
  tag_addresses_hourly: { time: "hour", ttl: (days: number) => `(hour + toIntervalHour(1)) + toIntervalDay(${days})` },
  address_daily: { time: "day", ttl: (days: number) => `(day + toIntervalDay(1)) + toIntervalDay(${days})` },
  address_tags: { time: "last_seen", ttl: (days: number) => `toDateTime(last_seen, 'UTC') + toIntervalDay(${days})` },
  dead_letters: {
    time: "received_at",
    ttl: (days: number) => `toDateTime(received_at, 'UTC') + toIntervalDay(${days})`,
  },
  dead_letter_retries: {
    time: "retried_at",
    ttl: (days: number) => `toDateTime(retried_at, 'UTC') + toIntervalDay(${days})`,
  },
  observations: {
    time: "observed_at",
    ttl: (days: number) => `toDateTime(observed_at, 'UTC') + toIntervalDay(${days})`,
  },
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
  if (definition === undefined) {
    throw new StoreError('the table observations is missing: run "noisefloor migrate", or grant its user SELECT on it');
  }
  return daysIn(definition.create_table_query) ?? DEFAULT_RETENTION_DAYS;
}

/**
 * The same, kept up to date: who goes on by a longer one that held before takes in what is deleted at once, without a
 * word to anybody.
 */
export async function watchRetention(client: ClickHouseClient, options: WatchOptions = {}): Promise<Watched<number>> {
  return watch(
    async () => String(await readRetention(client)),
    () => readRetention(client),
    options,
  );
}

/** For how many days a table keeps its rows by its definition; undefined when for ever. */
export function daysIn(createTableQuery: string): number | undefined {
  const days = /\bTTL .*toIntervalDay\((\d+)\)/.exec(createTableQuery)?.[1];
  return days === undefined ? undefined : Number(days);
}

/**
 * Makes every table keep its rows for `days` days. Tables that already do are left alone, for a changed TTL rewrites
 * data: that goes on in the server after this has returned, for as long as it takes.
 * @param terms `leavesData` says that what is there is not gone through at all.
 * @returns the tables that were changed.
 */
export async function applyRetention(
  client: ClickHouseClient,
  days: number,
  terms: { readonly leavesData?: boolean } = {},
): Promise<string[]> {
  if (!Number.isInteger(days) || days < 1)
    throw new RangeError(`retention of ${days} days is not a whole number from 1`);
  const definitions = new Map(
    (await run(client, tableDefinitions, {})).map((row) => [row.name, row.create_table_query]),
  );
  const changed: string[] = [];
  for (const [table, { ttl: ttlOf }] of Object.entries(AGEING_TABLES)) {
    const ttl = ttlOf(days);
    if (definitions.get(table)?.includes(`TTL ${ttl}`)) continue;
    await client.command({
      query: `ALTER TABLE ${table} MODIFY TTL ${ttl}
        SETTINGS alter_sync = 0, materialize_ttl_after_modify = ${terms.leavesData ? 0 : 1}`,
    });
    changed.push(table);
  }
  return changed;
}
