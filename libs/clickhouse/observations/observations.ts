import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { ageingTable } from "../schema/tables.ts";
import { readRetention } from "../storage/retention.ts";

const newestReceipt = defineQuery({
  name: "newest-receipt",
  sql: `SELECT toUnixTimestamp64Milli(max(received_at)) AS at FROM ${OBSERVATIONS}`,
  params: z.object({}),
  row: z.object({ at: z.int() }),
});

/**
 * When the intake received the newest stored observation, in milliseconds since 1970 UTC; undefined when there is none.
 */
export async function readNewestReceipt(client: ClickHouseClient): Promise<number | undefined> {
  const { at } = await runForOne(client, newestReceipt, {});
  return at === 0 ? undefined : at;
}

/** All observations of a store; times in milliseconds since 1970 UTC, undefined when there are none. */
export type ObservationSummary = {
  /** Rows that replace each other count once. */
  readonly observations: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly retentionDays: number;
  /** How many of them are older than the retention: the next merges delete them. */
  readonly expired: number;
};

export async function summarizeObservations(client: ClickHouseClient): Promise<ObservationSummary> {
  const retentionDays = await readRetention(client);
  const summary = defineQuery({
    name: "observation-summary",
    sql: `SELECT count() AS observations, countIf(${ageingTable("observations").ttl(retentionDays)} <= now()) AS expired,
        toUnixTimestamp64Milli(min(observed_at)) AS oldest, toUnixTimestamp64Milli(max(observed_at)) AS newest
      FROM ${OBSERVATIONS} FINAL`,
    params: z.object({}),
    row: z.object({ observations: z.int(), expired: z.int(), oldest: z.int(), newest: z.int() }),
  });
  const { observations, expired, oldest, newest } = await runForOne(client, summary, {});
  const isEmpty = observations === 0;
  return { observations, expired, retentionDays, from: isEmpty ? undefined : oldest, to: isEmpty ? undefined : newest };
}
