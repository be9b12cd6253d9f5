import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { rowsOf, TAG_ACTIVITY_HOURLY } from "@noisefloor/clickhouse/client/table-names.ts";
import { SPREAD_TABLES, TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { z } from "zod";

/** SQL: the rows of a table, spelled alike whatever order their values were merged in. */
const ROWS: Readonly<Record<string, string>> = {
  tag_activity_hourly: `SELECT tag_id, dataset, workspace_id, hour, uniqExactMerge(addresses)
    FROM ${TAG_ACTIVITY_HOURLY} GROUP BY tag_id, dataset, workspace_id, hour`,
  removed_addresses: "SELECT * FROM removed_addresses",
};

const rowsIn = (table: string) =>
  `SELECT count() AS rows, toString(sum(cityHash64(toString(tuple(*))))) AS digest
    FROM (${ROWS[table] ?? `SELECT * FROM ${SPREAD_TABLES.includes(table) ? rowsOf(table) : table} FINAL`})`;

type Content = { readonly rows: number; readonly digest: string };

async function contentsOf(client: ClickHouseClient, tables: readonly string[]): Promise<Record<string, Content>> {
  const contents = defineQuery({
    name: "test-contents",
    sql: tables.map((table) => `SELECT '${table}' AS name, * FROM (${rowsIn(table)})`).join(" UNION ALL "),
    params: z.object({}),
    row: z.object({ name: z.string(), rows: z.int(), digest: z.string() }),
  });
  return Object.fromEntries((await run(client, contents, {})).map(({ name, ...content }) => [name, content]));
}

/** The number and a digest of a table's rows, whatever parts they are in. */
export async function contentOf(client: ClickHouseClient, table: string): Promise<Content> {
  const content = (await contentsOf(client, [table]))[table];
  if (content === undefined) throw new RangeError(`there is no table ${table}`);
  return content;
}

/**
 * The content of every table of a store, over all its shards. Rows of `observation_changes` end within minutes, and a removal
 * of addresses is remembered for a day.
 */
export function storeContents(client: ClickHouseClient): Promise<Record<string, Content>> {
  const passing = ["schema_migrations", "observation_changes", "removed_addresses"];
  return contentsOf(
    client,
    Object.keys(TABLES).filter((table) => !passing.includes(table)),
  );
}
