import type { ClickHouseClient } from "../client/client.ts";
import { readDefinitions } from "./definitions.ts";
import { AGEING_TABLES } from "./tables.ts";

/**
 * Settings of a table, because an insert cannot ask for them. They cover merged parts too: the embedded server deletes
 * the parts that a merge has read immediately, other servers after eight minutes.
 */
const DURABLE = ["fsync_after_insert", "fsync_part_directory", "min_rows_to_fsync_after_merge"];

const isDurableTable = (definition: string) =>
  DURABLE.every((setting) => new RegExp(`\\b${setting} = (?:1|true)\\b`).test(definition));

/** Whether the observations survive a power cut once an insert is answered. */
export async function readDurability(client: ClickHouseClient): Promise<boolean> {
  const definition = (await readDefinitions(client, ["observations"])).get("observations");
  return definition !== undefined && isDurableTable(definition);
}

/**
 * With `isDurable`, every table that observations and dead letters go to brings each part to the disk before an insert
 * is answered or merged parts are deleted; without it, the operating system decides when.
 * @returns the tables that were changed.
 */
export async function applyDurability(client: ClickHouseClient, isDurable: boolean): Promise<string[]> {
  const definitions = await readDefinitions(
    client,
    AGEING_TABLES.map(({ name }) => name),
  );
  const changed = [...definitions].filter(([, definition]) => isDurableTable(definition) !== isDurable);
  const change = isDurable
    ? `MODIFY SETTING ${DURABLE.map((setting) => `${setting} = 1`)}`
    : `RESET SETTING ${DURABLE}`;
  for (const [table] of changed) await client.command({ query: `ALTER TABLE ${table} ${change}` });
  return changed.map(([table]) => table);
}
