import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { DEAD_LETTERS, OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";

/** Each address and time, with the number of observations that have both. */
export const readBackObservations = defineQuery({
  name: "test-stored",
  sql: `SELECT toString(source_ip) AS ip, toUnixTimestamp64Milli(observed_at) AS at, count() AS times FROM ${OBSERVATIONS} FINAL GROUP BY ip, at ORDER BY at, ip`,
  params: z.object({}),
  row: z.object({ ip: z.string(), at: z.int(), times: z.int() }),
});
/** Every dead letter, in the order of the payloads. */
export const readBackDeadLetters = defineQuery({
  name: "test-dead-letters",
  sql: `SELECT origin, position, reason, detail, payload FROM ${DEAD_LETTERS} FINAL ORDER BY payload, position`,
  params: z.object({}),
  row: z.object({
    origin: z.string(),
    position: z.int(),
    reason: z.string(),
    detail: z.string(),
    payload: z.string(),
  }),
});
