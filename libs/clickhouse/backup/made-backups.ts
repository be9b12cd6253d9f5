import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { toRow } from "../records/rows.ts";

const backupSchema = z.object({
  /** Milliseconds since 1970 UTC. */
  madeAt: z.int(),
  /** As the command was given it. */
  place: z.string(),
  bytes: z.int(),
});
export type MadeBackupRecord = z.infer<typeof backupSchema>;

/** Records that a backup was made and read back. */
export async function writeBackup(client: ClickHouseClient, backup: MadeBackupRecord): Promise<void> {
  await client.insert({ table: "backups", values: [toRow(backup)], format: "JSONEachRow" });
}

const lastBackup = defineQuery({
  name: "last-backup",
  sql: `SELECT toUnixTimestamp64Milli(made_at) AS madeAt, place, bytes FROM backups ORDER BY made_at DESC LIMIT 1`,
  params: z.object({}),
  row: backupSchema,
});

/** The newest backup; undefined when none was ever made. */
export async function readLastBackup(client: ClickHouseClient): Promise<MadeBackupRecord | undefined> {
  return (await run(client, lastBackup, {}))[0];
}
