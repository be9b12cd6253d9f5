import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";

/** What can leave a database with some of its data. */
export type Unfinished = "restore" | "rebalance";

/**
 * A table that exists while a restore swaps tables, or until a rebalance has copied a store, and stays when that is
 * interrupted: then some tables of the database are as they should be and some are not.
 */
const MARKERS: Readonly<Record<Unfinished, string>> = {
  restore: "restore_unfinished",
  rebalance: "rebalance_unfinished",
};

const markers = defineQuery({
  name: "unfinished-markers",
  sql: `SELECT name FROM system.tables
    WHERE database = if({database:String} = '', currentDatabase(), {database:String})
      AND name IN {markers:Array(String)}`,
  params: z.object({ database: z.string(), markers: z.array(z.string()) }),
  row: z.object({ name: z.string() }),
});

/**
 * @param database the client's own, if left out.
 * @returns what has not ended in a database, or was interrupted; undefined when all is well.
 */
export async function readUnfinished(client: ClickHouseClient, database = ""): Promise<Unfinished | undefined> {
  const present = await run(client, markers, { database, markers: Object.values(MARKERS) });
  if (present.length === 0) return undefined;
  return present.some(({ name }) => name === MARKERS.restore) ? "restore" : "rebalance";
}

export async function putMarker(client: ClickHouseClient, what: Unfinished): Promise<void> {
  await client.command({ query: `CREATE TABLE IF NOT EXISTS ${MARKERS[what]} (nothing UInt8) ENGINE = TinyLog` });
}

export async function removeMarker(client: ClickHouseClient, what: Unfinished): Promise<void> {
  await client.command({ query: `DROP TABLE ${MARKERS[what]} SYNC` });
}
