import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";

const tableDefinitions = defineQuery({
  name: "table-definitions",
  sql: `SELECT name, create_table_query AS definition FROM system.tables
    WHERE database = currentDatabase() AND name IN {names:Array(String)}`,
  params: z.object({ names: z.array(z.string()).readonly() }),
  row: z.object({ name: z.string(), definition: z.string() }),
});

/**
 * The statements that would create these tables as they are now, by name; without the missing ones and those that the
 * user may not see. Of each table that it names the server spells the statement anew, so ask only for what you need.
 */
export async function readDefinitions(
  client: ClickHouseClient,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await run(client, tableDefinitions, { names });
  return new Map(rows.map(({ name, definition }) => [name, definition]));
}
