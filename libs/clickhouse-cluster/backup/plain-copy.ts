import { assertWhole, backUpDatabase, type MadeBackup } from "@noisefloor/clickhouse/backup/backup.ts";
import type { BackupOptions } from "@noisefloor/clickhouse/backup/operation.ts";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { openScratchDatabase } from "@noisefloor/clickhouse/restore/scratch-database.ts";
import { COPIED_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { createOwn, linkParts } from "../replicas/tables.ts";
import type { BackupPart } from "./parts.ts";

/**
 * Makes one part of a backup. A replica's tables say where in Keeper they are shared, so they cannot be restored beside
 * those that are there: their parts are linked, which copies nothing, into tables of this server alone, and these are
 * backed up. So a backup can be restored into any store, with replicas or without.
 * @param client of the server of the part.
 * @returns undefined when it was cancelled.
 * @throws BackupError
 */
export async function backUpPart(
  part: BackupPart,
  client: ClickHouseClient,
  options: BackupOptions,
): Promise<MadeBackup | undefined> {
  const { connection, replicas, place } = part;
  if (replicas.length < 2) return backUpDatabase(client, connection.database, place, options);
  await assertWhole(client, connection.database);
  const scratch = await openScratchDatabase(connection, "backup");
  const store = connect(connection, "noisefloor-backup");
  try {
    for (const table of COPIED_TABLES) {
      const copy = { database: scratch.name, table };
      await createOwn(store, table, copy);
      await linkParts(store, { database: connection.database, table }, copy);
    }
    return await backUpDatabase(client, scratch.name, place, options);
  } finally {
    await store.close();
    await scratch.close();
  }
}
