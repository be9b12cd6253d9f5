import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, run } from "../client/query.ts";
import { AGEING_TABLES } from "./retention.ts";
import { unlessRefused } from "./table-statistics.ts";

/** What a table would lose by a shorter retention. */
export type TableLoss = {
  readonly table: string;
  readonly rows: number;
  /** Of these rows. What is beyond the retention that holds now does not count: it goes anyway. */
  readonly lost: number;
  /** The oldest and newest time among the lost, in milliseconds since 1970 UTC; 0 when nothing is lost. */
  readonly from: number;
  readonly to: number;
};

/**
 * Counts what goes when the retention is shortened: the rows whose bytes exist nowhere else, for the rollups follow from
 * them. @returns undefined when the server may not read so much, or not for so long.
 */
export async function readLoss(
  client: ClickHouseClient,
  current: number,
  days: number,
): Promise<TableLoss[] | undefined> {
  const { observations, dead_letters } = AGEING_TABLES;
  const losses = defineQuery({
    name: "retention-loss",
    sql: Object.entries({ observations, dead_letters })
      .map(([table, { time, ttl }]) => {
        const isLost = `${ttl(days)} <= now() AND ${ttl(current)} > now()`;
        return `SELECT '${table}' AS table, count() AS rows, countIf(${isLost}) AS lost,
          toUnixTimestamp64Milli(minIf(${time}, ${isLost})) AS from,
          toUnixTimestamp64Milli(maxIf(${time}, ${isLost})) AS to FROM ${table}`;
      })
      .join(" UNION ALL "),
    params: z.object({}),
    row: z.object({ table: z.string(), rows: z.int(), lost: z.int(), from: z.int(), to: z.int() }),
  });
  return unlessRefused(run(client, losses, {}));
}
