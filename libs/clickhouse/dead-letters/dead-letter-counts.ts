import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";
import { DEAD_LETTERS } from "../client/table-names.ts";

/** Without FINAL, which would order all rows: an id that came again counts once all the same. */
const countsSince = defineQuery({
  name: "dead-letter-counts-since",
  sql: `SELECT reason, uniqExact(id) AS records, uniqExactIf(id, source = 'file') AS replayed FROM ${DEAD_LETTERS}
    WHERE received_at >= toDateTime64({since:String}, 3, 'UTC') GROUP BY reason ORDER BY records DESC, reason`,
  params: z.object({ since: z.string() }),
  row: z.object({ reason: z.string(), records: z.int(), replayed: z.int() }),
});

/** Dead letters of one reason, and how many of them are of files that were replayed. */
export type DeadLetterCount = z.output<typeof countsSince.row>;

/** How many dead letters came since a time, by reason, the most first. @param since milliseconds since 1970 UTC. */
export function countDeadLettersSince(client: ClickHouseClient, since: number): Promise<DeadLetterCount[]> {
  return run(client, countsSince, { since: toDateTime64(since) });
}
