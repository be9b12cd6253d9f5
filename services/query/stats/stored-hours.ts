import { defineQuery, type Read } from "@noisefloor/clickhouse/client/query.ts";
import { TAG_ACTIVITY_HOURLY } from "@noisefloor/clickhouse/client/table-names.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { floorToHour, formatTimestamp, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";
import { none, timestamp } from "../wire.ts";

/** The first and the last hour with observations since an hour, in seconds since 1970 UTC; no row without any. */
const storedHours = defineQuery({
  name: "stored-hours",
  sql: `SELECT toUnixTimestamp(min(hour)) AS first, toUnixTimestamp(max(hour)) AS last
    FROM ${TAG_ACTIVITY_HOURLY}
    WHERE tag_id = toUUID('${NIL_TAG_ID}') AND ${IN_SCOPES} AND hour >= toDateTime({from:UInt32}, 'UTC')
    HAVING count() > 0`,
  combine: (results) =>
    `SELECT min(result.first) AS first, max(result.last) AS last FROM ${results} AS result HAVING count() > 0`,
  params: z.object({ scopes: scopesParam, from: z.int() }),
  row: z.object({ first: z.int(), last: z.int() }),
});

/** From when to when observations are stored, in milliseconds on the hour; undefined when none are. */
export type StoredSpan = { readonly from: number; readonly end: number } | undefined;

/** @param of the scopes, and the time in milliseconds before which observations have expired. */
export async function readStoredSpan(
  { scopes, since }: { readonly scopes: Scope[]; readonly since: number },
  read: Read,
  signal: AbortSignal,
): Promise<StoredSpan> {
  const [stored] = await read(storedHours, { scopes, from: floorToHour(since) / 1_000 }, signal);
  return stored && { from: stored.first * 1_000, end: stored.last * 1_000 + HOUR_MS };
}

/** The members of an answer's metadata that say what is stored at all. */
export const storedSpanShape = {
  stored_from: timestamp
    .or(none)
    .describe("The first hour of which the datasets asked for hold observations; empty without any."),
  stored_to: timestamp.or(none).describe("The end of the last such hour."),
};

export function toStoredSpan(stored: StoredSpan) {
  return {
    stored_from: stored === undefined ? "" : formatTimestamp(stored.from),
    stored_to: stored === undefined ? "" : formatTimestamp(stored.end),
  };
}
