import { ClickHouseError, type ClickHouseSettings } from "@clickhouse/client";
import { z } from "zod";
import { type ClickHouseClient, type ClickHouseConnection, connect, PATIENT_MS } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier } from "../client/sql-text.ts";
import { applyRetention, readRetention } from "../schema/retention.ts";
import { BackupError } from "./backup.ts";
import { putRestoreMarker, removeRestoreMarker } from "./restore-marker.ts";

export const activeParts = defineQuery({
  name: "active-parts",
  sql: `SELECT table, name, partition_id AS partitionId, rows, bytes_on_disk AS bytes FROM system.parts
    WHERE database = {database:String} AND active AND table IN {tables:Array(String)} ORDER BY table, name`,
  params: z.object({ database: z.string(), tables: z.array(z.string()) }),
  row: z.object({ table: z.string(), name: z.string(), partitionId: z.string(), rows: z.int(), bytes: z.int() }),
});

/**
 * Throws a BackupError unless the server would take the parts of each table of one database into the same table of the
 * other. It is asked itself, with a partition that there is not, so that nothing is changed.
 */
export async function requireSameStructure(
  server: ClickHouseClient,
  from: string,
  to: string,
  tables: readonly string[],
): Promise<void> {
  for (const table of tables) {
    await server
      .command({
        query: `ALTER TABLE ${identifier(to)}.${identifier(table)} ATTACH PARTITION ID 'none'
          FROM ${identifier(from)}.${identifier(table)}`,
      })
      .catch((error: unknown) => {
        if (!(error instanceof ClickHouseError)) throw error;
        throw new BackupError(
          `the table ${table} of the backup cannot take the place of the store's: ${error.message}`,
        );
      });
  }
}

/** What is replaced is meant to go, however large: else a server takes more than 50 GB for a mistake. */
const OF_ANY_SIZE: ClickHouseSettings = { max_table_size_to_drop: "0", max_partition_size_to_drop: "0" };

/**
 * Puts the parts of a database's tables in the place of what another holds. Not to be broken off: the parts are linked,
 * not copied, so it takes moments. When it does break off a mark says so.
 */
export async function putInPlace(
  server: ClickHouseClient,
  copy: string,
  connection: ClickHouseConnection,
  tables: readonly string[],
): Promise<void> {
  const restored = connect({ ...connection, database: copy }, "noisefloor-restore");
  const live = connect(connection, "noisefloor-restore", PATIENT_MS);
  try {
    const retentionDays = await readRetention(restored);
    await putRestoreMarker(live);
    try {
      await replaceParts(server, live, copy, connection.database, { tables, retentionDays });
      await removeRestoreMarker(live);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new BackupError(
        `the restore broke off while it put the backup in place, so that the data are mixed: run it again. ${reason}`,
        { cause: error },
      );
    }
  } finally {
    await restored.close();
    await live.close();
  }
}

async function replaceParts(
  server: ClickHouseClient,
  live: ClickHouseClient,
  copy: string,
  database: string,
  { tables, retentionDays }: { readonly tables: readonly string[]; readonly retentionDays: number },
): Promise<void> {
  // First, or a shorter one that holds here now could delete what has just been restored. What is there until then is
  // not gone through: that could take hours, and the parts that come know when their rows end.
  await applyRetention(live, retentionDays, { leavesData: true });
  const partitionsOf = async (name: string) => {
    const rows = await run(server, activeParts, { database: name, tables: [...tables] });
    return new Map(rows.map(({ table, partitionId }) => [`${table} ${partitionId}`, { table, partitionId }]));
  };
  const wanted = await partitionsOf(copy);
  for (const { table, partitionId } of wanted.values()) {
    await live.command({
      query: `ALTER TABLE ${identifier(table)} REPLACE PARTITION ID {id:String}
        FROM ${identifier(copy)}.${identifier(table)}`,
      query_params: { id: partitionId },
      clickhouse_settings: OF_ANY_SIZE,
    });
  }
  for (const [key, { table, partitionId }] of await partitionsOf(database)) {
    if (wanted.has(key)) continue;
    await live.command({
      query: `ALTER TABLE ${identifier(table)} DROP PARTITION ID {id:String}`,
      query_params: { id: partitionId },
      clickhouse_settings: OF_ANY_SIZE,
    });
  }
}
