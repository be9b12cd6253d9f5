import { z } from "zod";
import { OPEN_INTAKE_ID } from "../access/sensor-keys.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { identifier } from "../client/sql-text.ts";
import { KEY_TABLES } from "../schema/tables.ts";

/** How many keys a restore changes. */
export type KeyChanges = {
  /** Valid in the backup and revoked since: they stay revoked. */
  readonly revoked: number;
  /** Made since the backup and still valid: the restore removes them. */
  readonly lost: number;
};

const changedKeys = (backup: string, live: string) =>
  defineQuery({
    name: "keys-changed-since",
    sql: `SELECT
        countIf(is_revoked AND key_id != '${OPEN_INTAKE_ID}' AND key_id IN (SELECT key_id FROM ${backup} FINAL WHERE NOT is_revoked)) AS revoked,
        countIf(NOT is_revoked AND key_id != '${OPEN_INTAKE_ID}' AND key_id NOT IN (SELECT key_id FROM ${backup})) AS lost
      FROM ${live} FINAL`,
    params: z.object({}),
    row: z.object({ revoked: z.int(), lost: z.int() }),
  });

/** Revokes in a restored database the keys that are revoked in the database that it will replace. */
export async function keepRevocations(
  server: ClickHouseClient,
  restored: string,
  replaced: string,
): Promise<KeyChanges> {
  const sum = { revoked: 0, lost: 0 };
  for (const table of KEY_TABLES) {
    const [backup, live] = [`${identifier(restored)}.${table}`, `${identifier(replaced)}.${table}`];
    const changed = await runForOne(server, changedKeys(backup, live), {});
    sum.revoked += changed.revoked;
    sum.lost += changed.lost;
    await server.command({
      query: `INSERT INTO ${backup}
        SELECT * REPLACE (true AS is_revoked, updated_at + toIntervalMillisecond(1) AS updated_at)
        FROM (SELECT * FROM ${backup} FINAL
          WHERE NOT is_revoked AND key_id IN (SELECT key_id FROM ${live} FINAL WHERE is_revoked))`,
    });
  }
  return sum;
}
