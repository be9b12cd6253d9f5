import { ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import { BackupError } from "../backup/errors.ts";
import type { BackupOptions } from "../backup/operation.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { isTransient } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";
import { COPIED_TABLES } from "../schema/tables.ts";

const activeParts = defineQuery({
  name: "active-parts",
  sql: `SELECT table, name, bytes_on_disk AS bytes FROM system.parts
    WHERE database = currentDatabase() AND active AND table IN {tables:Array(String)} ORDER BY table, name`,
  params: z.object({ tables: z.array(z.string()) }),
  row: z.object({ table: z.string(), name: z.string(), bytes: z.int() }),
});

const partCheck = (table: string, part: string) =>
  defineQuery({
    name: "part-check",
    sql: `CHECK TABLE ${identifier(table)} PART ${literal(part)} SETTINGS check_query_single_value_result = 1`,
    params: z.object({}),
    row: z.object({ result: z.int() }),
  });

/**
 * Reads every part that came out of a backup and compares checksums: a backup that rotted on its disk is found here and
 * not months later.
 * @param client of the scratch database. Its merges stay stopped: a part that is listed must still be there when
 * checked.
 * @returns whether all were checked; false when that was cancelled.
 * @throws BackupError
 */
export async function checkParts(
  client: ClickHouseClient,
  { signal, onProgress = () => {} }: BackupOptions,
): Promise<boolean> {
  for (const table of COPIED_TABLES) await client.command({ query: `SYSTEM STOP MERGES ${identifier(table)}` });
  const parts = await run(client, activeParts, { tables: [...COPIED_TABLES] });
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { table, name, bytes } of parts) {
    if (signal.aborted) return false;
    const [checked] = await run(client, partCheck(table, name), {}).catch((error: unknown) => {
      if (error instanceof ClickHouseError && !isTransient(error)) return [];
      throw error;
    });
    if (checked?.result !== 1) {
      throw new BackupError(`the backup is damaged: the part ${name} of ${table} is incomplete`);
    }
    done += bytes;
    onProgress(done, total);
  }
  return true;
}
