import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";
import { storingAgain } from "../client/storing-again.ts";

/** Inserts go by position: the columns of a view may stand in another order than those of its table. */
const viewSelect = defineQuery({
  name: "view-select",
  sql: `SELECT as_select AS select, concat(currentDatabase(), '.observations') AS source,
      (SELECT groupArray(name) FROM system.columns WHERE database = currentDatabase() AND table = {view:String}) AS columns
    FROM system.tables WHERE database = currentDatabase() AND name = {view:String}`,
  params: z.object({ view: z.string() }),
  row: z.object({ select: z.string(), source: z.string(), columns: z.array(z.string()) }),
});

/** How the view of a rollup makes its rows of observations. */
export type RollupView = z.output<(typeof viewSelect)["row"]>;

export async function readRollupView(client: ClickHouseClient, table: string): Promise<RollupView> {
  const [view] = await run(client, viewSelect, { view: `${table}_mv` });
  if (view === undefined) throw new StoreError(`the view ${table}_mv is missing`);
  return view;
}

/**
 * Fills a table by the SELECT of a rollup's view with those observations for which a condition in SQL holds. FINAL:
 * rows that another replaced must not count, as their tags may be other ones.
 */
export async function fillRollup(
  client: ClickHouseClient,
  { table, view, where }: { table: string; view: RollupView; where: string },
): Promise<void> {
  await client.command({
    query: `INSERT INTO ${identifier(table)} (${view.columns.map(identifier).join(", ")}) ${view.select}
      SETTINGS additional_table_filters = {${literal(view.source)}: ${literal(where)}}, final = 1,
        do_not_merge_across_partitions_select_final = 1`,
    clickhouse_settings: storingAgain(),
  });
}
