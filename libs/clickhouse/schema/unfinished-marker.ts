import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, runForOne } from "../client/query.ts";

/**
 * A table that exists while a restore swaps tables, and stays when the swap is interrupted: then some tables of the
 * database are the backup's and some are not.
 */
export const RESTORE_MARKER = "restore_unfinished";

const markers = defineQuery({
  name: "restore-markers",
  sql: "SELECT count() AS markers FROM system.tables WHERE database = currentDatabase() AND name = {marker:String}",
  params: z.object({ marker: z.string() }),
  row: z.object({ markers: z.int() }),
});

export async function isRestoreUnfinished(client: ClickHouseClient): Promise<boolean> {
  return (await runForOne(client, markers, { marker: RESTORE_MARKER })).markers > 0;
}

export async function putRestoreMarker(client: ClickHouseClient): Promise<void> {
  await client.command({ query: `CREATE TABLE IF NOT EXISTS ${RESTORE_MARKER} (nothing UInt8) ENGINE = TinyLog` });
}

export async function removeRestoreMarker(client: ClickHouseClient): Promise<void> {
  await client.command({ query: `DROP TABLE ${RESTORE_MARKER} SYNC` });
}
