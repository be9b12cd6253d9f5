import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { rowsOf } from "../client/table-names.ts";
import { ageingTable } from "../schema/tables.ts";
import { unlessOverLimit } from "./table-statistics.ts";

/** What a shorter retention would delete of a table. */
const lossSchema = z.object({
  table: z.string(),
  rows: z.int(),
  /** Those of the rows that would be deleted. Rows beyond the current retention do not count: they are deleted anyway. */
  lost: z.int(),
  /** The oldest and newest time among the lost, in milliseconds since 1970 UTC; 0 when nothing is lost. */
  from: z.int(),
  to: z.int(),
});
export type TableLoss = z.infer<typeof lossSchema>;

/** Their bytes exist nowhere else; the rollups follow from them. */
const IRREPLACEABLE = ["observations", "dead_letters"];

/**
 * Counts what a retention of `days` instead of `current` days would delete of the irreplaceable tables.
 * @returns undefined when the server may not read so much, or not for so long.
 */
export async function readLoss(
  client: ClickHouseClient,
  current: number,
  days: number,
): Promise<TableLoss[] | undefined> {
  const losses = defineQuery({
    name: "retention-loss",
    sql: IRREPLACEABLE.map(ageingTable)
      .map(({ name, time, ttl }) => {
        const isLost = `${ttl(days)} <= now() AND ${ttl(current)} > now()`;
        return `SELECT '${name}' AS table, count() AS rows, countIf(${isLost}) AS lost,
          toUnixTimestamp64Milli(minIf(${time}, ${isLost})) AS from,
          toUnixTimestamp64Milli(maxIf(${time}, ${isLost})) AS to FROM ${rowsOf(name)}`;
      })
      .join(" UNION ALL "),
    params: z.object({}),
    row: lossSchema,
  });
  return unlessOverLimit(run(client, losses, {}));
}
