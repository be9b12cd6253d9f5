import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { identifier } from "../client/sql-text.ts";

/** How many keys and tokens a restore changes. */
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
        countIf(is_revoked AND (kind, id) IN (SELECT kind, id FROM ${backup} FINAL WHERE NOT is_revoked)) AS revoked,
        countIf(NOT is_revoked AND (kind, id) NOT IN (SELECT kind, id FROM ${backup})) AS lost
      FROM ${live} FINAL WHERE kind != 'open-intake'`,
    params: z.object({}),
    row: z.object({ revoked: z.int(), lost: z.int() }),
  });

/** Revokes in a restored database the keys that are revoked in the database that it will replace. */
export async function keepRevocations(
  server: ClickHouseClient,
  restored: string,
  replaced: string,
): Promise<KeyChanges> {
  const [backup, live] = [`${identifier(restored)}.credentials`, `${identifier(replaced)}.credentials`];
  const changed = await runForOne(server, changedKeys(backup, live), {});
  await server.command({
    query: `INSERT INTO ${backup}
      SELECT * REPLACE (true AS is_revoked, updated_at + toIntervalMillisecond(1) AS updated_at)
      FROM (SELECT * FROM ${backup} FINAL
        WHERE NOT is_revoked AND (kind, id) IN (SELECT kind, id FROM ${live} FINAL WHERE is_revoked))`,
  });
  return changed;
}
