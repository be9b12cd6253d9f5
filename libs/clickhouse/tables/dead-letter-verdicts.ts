import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, run, toDateTime64 } from "../query.ts";

const verdictSchema = z.object({
  letter: z.string(),
  /** When the letter was written, for those of a topic; 0 for those of the table. Milliseconds since 1970 UTC. */
  writtenAt: z.int(),
  judgedAt: z.int(),
  isDone: z.boolean(),
  /** Why it was refused again; empty when it is done. */
  reason: z.string(),
  detail: z.string(),
});
/** What became of a dead letter when it was tried again. */
export type Verdict = z.infer<typeof verdictSchema>;

const topicVerdicts = defineQuery({
  name: "dead-letter-verdicts",
  sql: `SELECT letter, toUnixTimestamp64Milli(written_at) AS writtenAt, toUnixTimestamp64Milli(judged_at) AS judgedAt,
      is_done AS isDone, reason, detail
    FROM dead_letter_verdicts FINAL WHERE topic = {topic:String}`,
  params: z.object({ topic: z.string() }),
  row: verdictSchema,
});

/** All verdicts on letters of a topic. */
export const readTopicVerdicts = (client: ClickHouseClient, topic: string): Promise<Verdict[]> =>
  run(client, topicVerdicts, { topic });

/** Notes what became of letters. @param topic empty for those of the table. */
export async function writeVerdicts(
  client: ClickHouseClient,
  topic: string,
  verdicts: readonly Verdict[],
): Promise<void> {
  if (verdicts.length === 0) return;
  await client.insert({
    table: "dead_letter_verdicts",
    values: verdicts.map(({ letter, writtenAt, judgedAt, isDone, reason, detail }) => ({
      topic,
      letter,
      written_at: toDateTime64(writtenAt),
      judged_at: toDateTime64(judgedAt),
      is_done: isDone,
      reason,
      detail,
    })),
    format: "JSONEachRow",
  });
}
