import { type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { DASHBOARD_VIEWS } from "@noisefloor/clickhouse/schema/dashboard-views.ts";
import { perShardName } from "@noisefloor/clickhouse-cluster/schema/distributed-tables.ts";
import { z } from "zod";

/** Every table with a column that says to whom its rows belong, but for the views for dashboards. */
const ownedColumns = defineQuery({
  name: "test-owned-columns",
  sql: `SELECT concat(database, '.', table) AS place, groupArray(name) AS columns FROM system.columns
    WHERE startsWith(database, 'noisefloor') AND table NOT IN {views:Array(String)}
    GROUP BY place
    HAVING hasAny(columns, ['workspace_id', 'publish_right', 'key_id', 'key_sensor_id', 'sensor_id'])
    ORDER BY place`,
  params: z.object({ views: z.array(z.string()) }),
  row: z.object({ place: z.string(), columns: z.array(z.string()) }),
});

/**
 * @param writer sees all tables.
 * @param answerTo asks as the user for dashboards. It gives the text of the answer or of the error.
 * @returns the tables whose rows belong to workspaces, keys or sensors, and the columns of these that may be selected.
 */
export async function readableColumns(
  writer: ClickHouseConnection,
  answerTo: (sql: string) => Promise<string>,
): Promise<{ readonly tables: readonly string[]; readonly columns: readonly string[] }> {
  const client = connect({ ...writer, cluster: undefined }, "noisefloor-tests");
  const views = [...DASHBOARD_VIEWS, ...DASHBOARD_VIEWS.map(perShardName)];
  const owned = await run(client, ownedColumns, { views });
  await client.close();
  const columns: string[] = [];
  for (const { place, columns: names } of owned) {
    for (const what of [...names, "count()", "1"]) {
      const answer = await answerTo(`SELECT ${what} FROM ${place} LIMIT 1`);
      if (!answer.includes("ACCESS_DENIED")) columns.push(`${place}.${what}`);
    }
  }
  return { tables: owned.map(({ place }) => place), columns };
}
