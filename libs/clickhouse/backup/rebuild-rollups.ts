import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";
import { DERIVED_TABLES } from "../schema/tables.ts";
import type { BackupOptions } from "./operation.ts";

const partitions = defineQuery({
  name: "observation-partitions",
  sql: `SELECT partition_id AS id, sum(rows) AS rows FROM system.parts
    WHERE database = currentDatabase() AND table = 'observations' AND active GROUP BY id ORDER BY id`,
  params: z.object({}),
  row: z.object({ id: z.string(), rows: z.int() }),
});

/** Inserts go by position: the columns of a view may stand in another order than those of its table. */
const viewSelect = defineQuery({
  name: "view-select",
  sql: `SELECT as_select AS select,
      (SELECT groupArray(name) FROM system.columns WHERE database = currentDatabase() AND table = {view:String}) AS columns
    FROM system.tables WHERE database = currentDatabase() AND name = {view:String}`,
  params: z.object({ view: z.string() }),
  row: z.object({ select: z.string(), columns: z.array(z.string()) }),
});

/**
 * Fills the rollups from the observations by the SELECT of their views, one partition at a time so that the server
 * needs memory for a week and not for all.
 * @param client of the database `database`, whose rollups are empty.
 * @returns whether it was done; false when it was cancelled.
 */
export async function rebuildRollups(
  client: ClickHouseClient,
  database: string,
  { signal, onProgress = () => {} }: BackupOptions,
): Promise<boolean> {
  const weeks = await run(client, partitions, {});
  const total = weeks.reduce((sum, { rows }) => sum + rows, 0) * DERIVED_TABLES.length;
  let done = 0;
  for (const table of DERIVED_TABLES) {
    const [view] = await run(client, viewSelect, { view: `${table}_mv` });
    if (view === undefined) throw new StoreError(`the view ${table}_mv is missing`);
    for (const { id, rows } of weeks) {
      if (signal.aborted) return false;
      const filters = `{${literal(`${database}.observations`)}: ${literal(`_partition_id = ${literal(id)}`)}}`;
      await client.command({
        query: `INSERT INTO ${identifier(table)} (${view.columns.map(identifier).join(", ")}) ${view.select}
          SETTINGS additional_table_filters = ${filters}`,
      });
      done += rows;
      onProgress(done, total);
    }
  }
  return true;
}
