import type { ClickHouseClient } from "@clickhouse/client";
import { identifier } from "../client/sql-text.ts";
import { COPIED_TABLES, TABLES } from "../schema/tables.ts";
import { putMarker, removeMarker } from "../schema/unfinished-marker.ts";
import { BackupError } from "./errors.ts";

/**
 * Exchanges every table of the store with the scratch database's, on each server in one statement that takes moments
 * and copies nothing. Views, a user's own too, go by name and read the new tables. A server exchanges one table after
 * the other: when that is interrupted, every server is left with a marker.
 * @param live of the store's database, in which every table exists: a client of each server by itself.
 * @throws BackupError
 */
export async function swapTables(live: readonly ClickHouseClient[], scratch: string): Promise<void> {
  for (const server of live) await putMarker(server, "restore");
  try {
    for (const server of live) await exchange(server, scratch);
    for (const server of live) await removeMarker(server, "restore");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BackupError(
      `the restore was interrupted while it swapped tables, so that the data are mixed: run it again. ${reason}`,
      { cause: error },
    );
  }
}

async function exchange(server: ClickHouseClient, scratch: string): Promise<void> {
  const pairs = Object.keys(TABLES).map((name) => `${identifier(name)} AND ${identifier(scratch)}.${identifier(name)}`);
  await server.command({ query: `EXCHANGE TABLES ${pairs.join(", ")}` });
  // What was stopped while the backup was loaded stays stopped under the new name.
  for (const name of COPIED_TABLES) {
    await server.command({ query: `SYSTEM START MERGES ${identifier(name)}` });
    await server.command({ query: `SYSTEM START TTL MERGES ${identifier(name)}` });
  }
}
