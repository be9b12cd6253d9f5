import { numberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery, type Read } from "@noisefloor/clickhouse/client/query.ts";
import { TAG_ACTIVITY_HOURLY } from "@noisefloor/clickhouse/client/table-names.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../../scope-sql.ts";

const tagHours = defineQuery({
  name: "tag-hours",
  sql: `SELECT toUInt32(indexOf({tags:Array(UUID)}, tag_id)) AS tag, hour, toUInt32(uniqExactMerge(addresses)) AS addresses
    FROM ${TAG_ACTIVITY_HOURLY} WHERE tag_id IN {tags:Array(UUID)} AND ${IN_SCOPES}
      AND hour >= toDateTime({from:UInt32}, 'UTC') AND hour < toDateTime({end:UInt32}, 'UTC')
    GROUP BY tag_id, hour`,
  // All rows of an address are in one server's result.
  combine: (results) =>
    `SELECT tag, hour, toUInt32(sum(result.addresses)) AS addresses FROM ${results} AS result GROUP BY tag, hour`,
  params: z.object({ tags: z.array(z.string()).readonly(), scopes: scopesParam, from: z.int(), end: z.int() }),
  row: z.object({ tag: numberColumn, hour: numberColumn, addresses: numberColumn }),
  format: "Native",
});

export type TagHoursQuery = {
  readonly tagIds: readonly string[];
  readonly scopes: readonly Scope[];
  /** Milliseconds since 1970 UTC, on the hour; the end is exclusive. */
  readonly from: number;
  readonly end: number;
};

/** The server holds the addresses of this many hours in memory. */
const HOURS_PER_QUERY = 7 * 24;

/** How many distinct addresses each of some tags had in each hour, the oldest hour first. */
export async function readTagHours(
  { tagIds, scopes, from, end }: TagHoursQuery,
  read: Read,
  signal: AbortSignal,
): Promise<Float64Array[]> {
  const counts = tagIds.map(() => new Float64Array((end - from) / HOUR_MS));
  for (let start = from; start < end; start += HOURS_PER_QUERY * HOUR_MS) {
    const span = { from: start / 1_000, end: Math.min(end, start + HOURS_PER_QUERY * HOUR_MS) / 1_000 };
    for (const { tag, hour, addresses } of await read(
      tagHours,
      { tags: tagIds, scopes: [...scopes], ...span },
      signal,
    )) {
      for (const [row, count] of addresses.entries()) {
        const ofTag = counts[(tag[row] ?? 0) - 1];
        if (ofTag !== undefined) ofTag[((hour[row] ?? 0) * 1_000 - from) / HOUR_MS] = count;
      }
    }
  }
  return counts;
}
