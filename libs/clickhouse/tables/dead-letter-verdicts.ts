import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { defineQuery, run, toDateTime64 } from "../client/query.ts";

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

const verdictsOn = defineQuery({
  name: "dead-letter-verdicts",
  sql: `SELECT letter, toUnixTimestamp64Milli(written_at) AS writtenAt, toUnixTimestamp64Milli(judged_at) AS judgedAt,
      is_done AS isDone, reason, detail
    FROM dead_letter_verdicts FINAL WHERE topic = {topic:String} AND letter IN {letters:Array(String)}`,
  params: z.object({ topic: z.string(), letters: z.array(z.string()) }),
  row: verdictSchema,
});

/** A server takes no longer list of ids at once: a parameter's text has to stay below 128 KiB. */
const LETTERS_AT_ONCE = 4_000;

/**
 * What retries said of some letters. A topic that was made anew has given out its offsets once more: a verdict on a
 * letter of it is on the one that was written at its `writtenAt`. @param topic empty for those of the table.
 */
export async function readVerdicts(
  client: ClickHouseClient,
  topic: string,
  letters: readonly string[],
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (let start = 0; start < letters.length; start += LETTERS_AT_ONCE) {
    verdicts.push(
      ...(await run(client, verdictsOn, { topic, letters: letters.slice(start, start + LETTERS_AT_ONCE) })),
    );
  }
  return verdicts;
}

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
