import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";
import { mutate } from "../mutations/mutate.ts";

type Forgotten = {
  readonly table: string;
  readonly id: string;
  /** SQL: whether a row says that what it is about is no more. */
  readonly isGone: string;
  /** For how many days that is still to be known. */
  readonly days: number;
  /** SQL: rows that stay all the same. */
  readonly unless?: string;
};

/**
 * What was deleted is a row until all that could ask for it has ended: lists and cursors of a feed after ten days,
 * answers to the tokens of a deleted feed after thirty. A revoked token stays revoked in a restore of any backup of
 * its time.
 */
const FORGOTTEN: readonly Forgotten[] = [
  { table: "feed_tokens", id: "key_id", isGone: "is_revoked", days: 400 },
  { table: "feeds", id: "feed_id", isGone: "is_deleted", days: 90 },
  {
    table: "guard_networks",
    id: "guard_id",
    isGone: "is_deleted",
    days: 90,
    // The newest change of a workspace says which lists are older than its guard.
    unless:
      "(workspace_id, updated_at) IN (SELECT workspace_id, max(updated_at) FROM guard_networks GROUP BY workspace_id)",
  },
];

/** Bounds one statement; the rest is left to the next call. */
const MAX_IDS = 10_000;

const goneRows = ({ table, id, isGone, unless = "false" }: Forgotten) =>
  defineQuery({
    name: `gone-${table}`,
    sql: `SELECT toString(${id}) AS id FROM ${table} FINAL
      WHERE ${isGone} AND updated_at < {before:DateTime64(3, 'UTC')} AND NOT (${unless}) LIMIT ${MAX_IDS}`,
    params: z.object({ before: z.string() }),
    row: z.object({ id: z.string() }),
  });

const orphanedStreams = defineQuery({
  name: "orphaned-feed-streams",
  sql: `SELECT DISTINCT token_id AS id FROM feed_streams
    WHERE answered_at < {before:DateTime64(3, 'UTC')} AND token_id NOT IN (SELECT key_id FROM feed_tokens) LIMIT ${MAX_IDS}`,
  params: z.object({ before: z.string() }),
  row: z.object({ id: z.string() }),
});

/**
 * Forgets feeds, tokens and guarded networks that were deleted long ago. Can be interrupted and repeated.
 * @returns how many.
 */
export async function forgetDeleted(client: ClickHouseClient, now: number): Promise<number> {
  let forgotten = 0;
  const remove = (table: string, id: string, condition: string, params: { ids: string[]; before: string }) =>
    mutate(client, {
      table,
      change: `DELETE WHERE toString(${id}) IN {ids:Array(String)} AND ${condition}`,
      params,
    });
  for (const of of FORGOTTEN) {
    const { table, id, isGone, days } = of;
    const before = toDateTime64(now - days * DAY_MS);
    const ids = (await run(client, goneRows(of), { before })).map((row) => row.id);
    if (ids.length === 0) continue;
    const isOld = "updated_at < {before:DateTime64(3, 'UTC')}";
    // What they replace goes first: without the row that says that it is gone, an older one would count again.
    await remove(table, id, `${isOld} AND NOT ${isGone}`, { ids, before });
    await remove(table, id, isOld, { ids, before });
    forgotten += ids.length;
  }
  const before = toDateTime64(now - DAY_MS);
  const ids = (await run(client, orphanedStreams, { before })).map((row) => row.id);
  if (ids.length > 0) await remove("feed_streams", "token_id", "true", { ids, before });
  return forgotten;
}
