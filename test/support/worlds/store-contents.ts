import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { z } from "zod";

const rowsOf = (table: string) =>
  table === "tag_activity_hourly"
    ? `SELECT count() AS rows, toString(sum(cityHash64(tag_id, dataset, workspace_id, hour, addresses))) AS digest FROM (
        SELECT tag_id, dataset, workspace_id, hour, uniqExactMerge(addresses) AS addresses
        FROM tag_activity_hourly GROUP BY tag_id, dataset, workspace_id, hour)`
    : `SELECT count() AS rows, toString(sum(cityHash64(toString(tuple(*))))) AS digest FROM ${table} FINAL`;

/** The number and a digest of a table's rows, whatever parts they are in. */
export function contentOf(client: ClickHouseClient, table: string): Promise<{ rows: number; digest: string }> {
  const content = defineQuery({
    name: "test-content",
    sql: rowsOf(table),
    params: z.object({}),
    row: z.object({ rows: z.int(), digest: z.string() }),
  });
  return runForOne(client, content, {});
}

/** The content of every table of a store, over all its shards. */
export async function storeContents(client: ClickHouseClient) {
  const tables = Object.keys(TABLES).filter((table) => !["schema_migrations", "address_changes"].includes(table));
  return Object.fromEntries(
    await Promise.all(tables.map(async (table) => [table, await contentOf(client, table)] as const)),
  );
}
