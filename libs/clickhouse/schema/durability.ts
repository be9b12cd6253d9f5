import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, run } from "../client/query.ts";
import { AGEING_TABLES } from "./tables.ts";

/**
 * Settings of a table, because an insert cannot ask for them. They cover merged parts too: the embedded server deletes
 * the parts that a merge has read at once, other servers after eight minutes.
 */
const DURABLE = ["fsync_after_insert", "fsync_part_directory", "min_rows_to_fsync_after_merge"];

const isDurableTable = (definition: string) =>
  DURABLE.every((setting) => new RegExp(`\\b${setting} = (?:1|true)\\b`).test(definition));

const tableDefinitions = defineQuery({
  name: "durable-tables",
  sql: `SELECT name, create_table_query AS definition FROM system.tables
    WHERE database = currentDatabase() AND name IN {names:Array(String)}`,
  params: z.object({ names: z.array(z.string()) }),
  row: z.object({ name: z.string(), definition: z.string() }),
});

/** Whether the observations survive a power cut once an insert is answered. */
export async function readDurability(client: ClickHouseClient): Promise<boolean> {
  const [observations] = await run(client, tableDefinitions, { names: ["observations"] });
  return observations !== undefined && isDurableTable(observations.definition);
}

/**
 * With `isDurable`, every table that observations and dead letters go to brings each part to the disk before an insert
 * is answered or merged parts are deleted; without it, the operating system decides when.
 * @returns the tables that were changed.
 */
export async function applyDurability(client: ClickHouseClient, isDurable: boolean): Promise<string[]> {
  const tables = await run(client, tableDefinitions, { names: AGEING_TABLES.map(({ name }) => name) });
  const changed = tables.filter(({ definition }) => isDurableTable(definition) !== isDurable).map(({ name }) => name);
  const change = isDurable
    ? `MODIFY SETTING ${DURABLE.map((setting) => `${setting} = 1`)}`
    : `RESET SETTING ${DURABLE}`;
  for (const table of changed) await client.command({ query: `ALTER TABLE ${table} ${change}` });
  return changed;
}
