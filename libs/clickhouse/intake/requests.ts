import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { INTAKE_REQUESTS } from "../client/table-names.ts";
import { toRow } from "../records/define-records.ts";

const requestSchema = z.object({
  /** Of sender and body: an unsigned 64-bit number, as text. */
  digest: z.string(),
  /** How many of this content were answered: the number of the next one, from 0. */
  answered: z.int(),
  /** When the next one came first; 0 unless that was stored. Milliseconds since 1970 UTC, as the next. */
  beganAt: z.int(),
  updatedAt: z.int(),
});
/** Requests of the HTTP intake with the same content. */
export type IntakeRequests = z.infer<typeof requestSchema>;

const intakeRequests = defineQuery({
  name: "intake-requests",
  sql: `SELECT toString(request.digest) AS digest, answered, toUnixTimestamp64Milli(began_at) AS beganAt,
      toUnixTimestamp64Milli(updated_at) AS updatedAt
    FROM ${INTAKE_REQUESTS} AS request FINAL WHERE request.digest IN {digests:Array(UInt64)}`,
  params: z.object({ digests: z.array(z.bigint()) }),
  row: requestSchema,
});

export const readIntakeRequests = (client: ClickHouseClient, digests: readonly string[]): Promise<IntakeRequests[]> =>
  run(client, intakeRequests, { digests: digests.map(BigInt) });

/** Of rows with the same digest the one that was updated last counts. */
export async function writeIntakeRequests(client: ClickHouseClient, rows: readonly IntakeRequests[]): Promise<void> {
  const values = rows.map((row) => toRow(row));
  await client.insert({ table: "intake_requests", values, format: "JSONEachRow" });
}
