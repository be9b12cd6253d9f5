import { BackupError } from "../backup/errors.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { identifier } from "../client/sql-text.ts";
import { COPIED_TABLES } from "../schema/tables.ts";
import { putMarker, removeMarker } from "../schema/unfinished-marker.ts";

/** A server whose tables are exchanged. */
export type Swap = {
  /** A client of this server by itself, and of the store's database, in which every table exists. */
  readonly live: ClickHouseClient;
  /** The tables of the scratch database, by the names of the store's that they take the place of. */
  readonly names: ReadonlyMap<string, string>;
};

/**
 * Exchanges every table of the store with the scratch database's, on each server in one statement that takes moments
 * and copies nothing. Views, a user's own too, go by name and read the new tables. A server exchanges one table after
 * the other: when that is interrupted, every server is left with a marker.
 * @throws BackupError
 */
export async function swapTables(swaps: readonly Swap[], scratch: string): Promise<void> {
  for (const { live } of swaps) await putMarker(live, "restore");
  try {
    for (const swap of swaps) await exchange(swap, scratch);
    for (const { live } of swaps) await removeMarker(live, "restore");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BackupError(
      `the restore was interrupted while it swapped tables, so that the data are mixed: run it again. ${reason}`,
      { cause: error },
    );
  }
}

async function exchange({ live, names }: Swap, scratch: string): Promise<void> {
  const pairs = [...names].map(
    ([name, other]) => `${identifier(name)} AND ${identifier(scratch)}.${identifier(other)}`,
  );
  await live.command({ query: `EXCHANGE TABLES ${pairs.join(", ")}` });
  // What was stopped while the backup was loaded stays stopped under the new name.
  for (const name of COPIED_TABLES) {
    await live.command({ query: `SYSTEM START MERGES ${identifier(name)}` });
    await live.command({ query: `SYSTEM START TTL MERGES ${identifier(name)}` });
  }
}
