import { z } from "zod";
import { type BoundValues, bindValues } from "../client/bound-values.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { DEAD_LETTER_RETRIES, DEAD_LETTERS } from "../client/table-names.ts";
import { mutate } from "../mutations/mutate.ts";
import { DEAD_LETTER_SOURCES, type DeadLetterSource } from "./dead-letters.ts";

/** Which dead letters are selected; what is left out means any. */
export type DeadLetterFilter = {
  /** Why it was rejected last, by a retry or otherwise. */
  readonly reason?: string | undefined;
  readonly source?: DeadLetterSource | undefined;
  /** The request, file or message, or the beginning of its name. */
  readonly origin?: string | undefined;
  readonly sensorId?: string | undefined;
  readonly keyId?: string | undefined;
  /** Received at this moment or later, and before that one. Milliseconds since 1970 UTC. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
  /** Also those that a retry has stored. */
  readonly includeDone: boolean;
};

/** SQL of a filter, and the values that it binds. */
type Selection = BoundValues & {
  /** The condition for a dead letter's columns. */
  readonly condition: string;
  /** The selected dead letters, each as its last retry left it. */
  readonly selected: string;
};

/**
 * A record that came again after its retry is open again, for its new reason. The table of retries is small, and a left
 * join without a partner has the type's defaults.
 */
function select({ reason, source, origin, sensorId, keyId, since, before, includeDone }: DeadLetterFilter): Selection {
  const bound = bindValues();
  const { bind } = bound;
  const is = (column: string, text: string | undefined) => (text ? [`${column} = ${bind("String", text)}`] : []);
  const time = (ms: number) => `fromUnixTimestamp64Milli(${bind("Int64", ms)}, 'UTC')`;
  const condition = [
    `received_at >= ${time(since ?? 0)}`,
    ...(before === undefined ? [] : [`received_at < ${time(before)}`]),
    ...is("source", source),
    ...(origin ? [`startsWith(origin, ${bind("String", origin)})`] : []),
    ...is("sensor_id", sensorId),
    ...is("key_id", keyId),
  ].join(" AND ");
  const selected = `
  SELECT letter.*, retry.retried_at AS retriedAt, retriedAt >= letter.received_at AS isRetried,
    isRetried AND retry.is_done AS isDone, isRetried AND NOT retry.is_done AS isRejectedAgain,
    if(isRejectedAgain, retry.reason, letter.firstReason) AS reason
  FROM (SELECT id, source, origin, position, received_at, reason AS firstReason FROM ${DEAD_LETTERS} FINAL WHERE ${condition}) AS letter
  LEFT ANY JOIN (SELECT id, retried_at, is_done, reason FROM ${DEAD_LETTER_RETRIES} FINAL) AS retry ON letter.id = retry.id
  WHERE ${[includeDone ? "1" : "NOT isDone", ...is("reason", reason)].join(" AND ")}`;
  return { ...bound, condition, selected };
}

const countSchema = z.object({
  source: z.enum(DEAD_LETTER_SOURCES),
  reason: z.string(),
  isDone: z.boolean(),
  count: z.int(),
  /** Milliseconds since 1970 UTC. */
  oldest: z.int(),
  newest: z.int(),
});
export type DeadLetterCount = z.infer<typeof countSchema>;

const anyParams = z.looseObject({});

/** The selected dead letters by source, reason and state. */
export function countDeadLettersBy(client: ClickHouseClient, filter: DeadLetterFilter): Promise<DeadLetterCount[]> {
  const { selected, params } = select(filter);
  const query = defineQuery({
    name: "dead-letter-counts",
    sql: `SELECT source, reason, toBool(isDone) AS isDone, count() AS count,
        toUnixTimestamp64Milli(min(received_at)) AS oldest, toUnixTimestamp64Milli(max(received_at)) AS newest
      FROM (${selected}) GROUP BY source, reason, isDone ORDER BY source, reason, isDone`,
    params: anyParams,
    row: countSchema,
  });
  return run(client, query, params);
}

/** The selected dead letters by source, reason and state, and the ids of the newest of them, the newest first. */
export async function countAndFindNewest(
  client: ClickHouseClient,
  filter: DeadLetterFilter,
  limit: number,
): Promise<{ counts: DeadLetterCount[]; ids: string[] }> {
  const { selected, bind, params } = select(filter);
  const newestIds = defineQuery({
    name: "newest-dead-letters",
    sql: `SELECT id FROM (${selected}) ORDER BY received_at DESC, id LIMIT ${bind("UInt32", limit)}`,
    params: anyParams,
    row: z.object({ id: z.string() }),
  });
  const [counts, newest] = await Promise.all([countDeadLettersBy(client, filter), run(client, newestIds, params)]);
  return { counts, ids: newest.map(({ id }) => id) };
}

/** The place of a dead letter in the order of the table's key, with its id. */
const placeSchema = z.object({ source: z.string(), origin: z.string(), position: z.int(), id: z.string() });
const BEFORE_ALL = { source: "", origin: "", position: 0, id: "" };
const IDS_PER_PAGE = 20_000;

/** The ids of all selected dead letters in the order of the table's key, some at a time. */
export async function* readSelectedIds(client: ClickHouseClient, filter: DeadLetterFilter): AsyncGenerator<string[]> {
  const { selected, params } = select(filter);
  const selectedIds = defineQuery({
    name: "selected-dead-letters",
    sql: `SELECT source, origin, position, id FROM (${selected})
      WHERE (source, origin, position, id) > ({afterSource:String}, {afterOrigin:String}, {afterPosition:UInt64}, {afterId:String})
      ORDER BY source, origin, position, id LIMIT ${IDS_PER_PAGE}`,
    params: anyParams,
    row: placeSchema,
  });
  let after: z.infer<typeof placeSchema> = BEFORE_ALL;
  for (;;) {
    const { source: afterSource, origin: afterOrigin, position: afterPosition, id: afterId } = after;
    const page = await run(client, selectedIds, { ...params, afterSource, afterOrigin, afterPosition, afterId });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page.map(({ id }) => id);
    after = last;
  }
}

/**
 * Deletes the selected dead letters and frees their space. A dead letter that comes again meanwhile may go, too, when
 * it is selected again. Resolves when they are deleted.
 */
export async function deleteDeadLetters(client: ClickHouseClient, filter: DeadLetterFilter): Promise<void> {
  const { condition, selected, params } = select(filter);
  await mutate(client, {
    table: "dead_letters",
    change: `DELETE WHERE ${condition} AND id IN (SELECT id FROM (${selected}))`,
    params,
    // Replicas may select differently. Then ClickHouse lets one fetch what the other has made.
    settings: { allow_nondeterministic_mutations: 1 },
  });
}
