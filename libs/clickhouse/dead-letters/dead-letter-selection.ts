import { z } from "zod";
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

const params = z.object({
  reason: z.string(),
  source: z.string(),
  origin: z.string(),
  sensorId: z.string(),
  keyId: z.string(),
  since: z.int(),
  before: z.int(),
  includeDone: z.boolean(),
});

/** No time of a dead letter is later: the year 2200. */
const END_OF_TIME = 7_258_118_400_000;

/** The values of a filter's parameters; an empty text means any. */
function paramsOf(filter: DeadLetterFilter): z.input<typeof params> {
  const { reason = "", source = "", origin = "", sensorId = "", keyId = "", includeDone } = filter;
  return {
    reason,
    source,
    origin,
    sensorId,
    keyId,
    includeDone,
    since: filter.since ?? 0,
    before: filter.before ?? END_OF_TIME,
  };
}

/** Of a dead letter's own columns. */
const WHERE = `received_at >= fromUnixTimestamp64Milli({since:Int64})
  AND received_at < fromUnixTimestamp64Milli({before:Int64})
  AND ({source:String} = '' OR source = {source:String})
  AND ({origin:String} = '' OR startsWith(origin, {origin:String}))
  AND ({sensorId:String} = '' OR sensor_id = {sensorId:String})
  AND ({keyId:String} = '' OR key_id = {keyId:String})`;

/**
 * The selected dead letters, each as its last retry left it. A record that came again after its retry is open again,
 * for its new reason. The table of retries is small, and a left join without a partner has the type's defaults.
 */
const SELECTED = `
  SELECT letter.*, retry.retried_at AS retriedAt, retriedAt >= letter.received_at AS isRetried,
    isRetried AND retry.is_done AS isDone, isRetried AND NOT retry.is_done AS isRejectedAgain,
    if(isRejectedAgain, retry.reason, letter.firstReason) AS reason
  FROM (SELECT id, source, origin, position, received_at, reason AS firstReason FROM ${DEAD_LETTERS} FINAL WHERE ${WHERE}) AS letter
  LEFT ANY JOIN (SELECT id, retried_at, is_done, reason FROM ${DEAD_LETTER_RETRIES} FINAL) AS retry ON letter.id = retry.id
  WHERE ({includeDone:Bool} OR NOT isDone) AND ({reason:String} = '' OR reason = {reason:String})`;

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

const countSql = (more = "") => `SELECT source, reason, toBool(isDone) AS isDone, count() AS count,
      toUnixTimestamp64Milli(min(received_at)) AS oldest, toUnixTimestamp64Milli(max(received_at)) AS newest${more}
    FROM (${SELECTED}) GROUP BY source, reason, isDone ORDER BY source, reason, isDone`;

const deadLetterCounts = defineQuery({
  name: "dead-letter-counts",
  sql: countSql(),
  params,
  row: countSchema,
});

/** The selected dead letters by source, reason and state. */
export function countDeadLettersBy(client: ClickHouseClient, filter: DeadLetterFilter): Promise<DeadLetterCount[]> {
  return run(client, deadLetterCounts, paramsOf(filter));
}

const newestIds = defineQuery({
  name: "newest-dead-letters",
  sql: `SELECT id FROM (${SELECTED}) ORDER BY received_at DESC, id LIMIT {limit:UInt32}`,
  params: params.extend({ limit: z.int() }),
  row: z.object({ id: z.string() }),
});

const newestInEach = defineQuery({
  name: "dead-letter-counts-and-newest",
  sql: countSql(", groupArraySorted({limit:UInt32})((-toUnixTimestamp64Milli(received_at), id)) AS newestOnes"),
  params: params.extend({ limit: z.int() }),
  row: countSchema.extend({ newestOnes: z.array(z.tuple([z.int(), z.string()])) }),
});
/** Max newest ids of a group: above it, the dead letters are read twice. */
const MAX_IN_GROUP = 1_000;

/** The selected dead letters by source, reason and state, and the ids of the newest of them, the newest first. */
export async function countAndFindNewest(
  client: ClickHouseClient,
  filter: DeadLetterFilter,
  limit: number,
): Promise<{ counts: DeadLetterCount[]; ids: string[] }> {
  if (limit === 0) return { counts: await countDeadLettersBy(client, filter), ids: [] };
  const given = { ...paramsOf(filter), limit };
  if (limit > MAX_IN_GROUP) {
    const found = await run(client, newestIds, given);
    return { counts: await countDeadLettersBy(client, filter), ids: found.map(({ id }) => id) };
  }
  const rows = await run(client, newestInEach, given);
  const newest = rows.flatMap(({ newestOnes }) => newestOnes).sort(compareNewest);
  const counts = rows.map(({ newestOnes: _newestOnes, ...count }) => count);
  return { counts, ids: newest.slice(0, limit).map(([, id]) => id) };
}

const compareNewest = ([time, id]: readonly [number, string], [otherTime, otherId]: readonly [number, string]) =>
  time - otherTime || (id < otherId ? -1 : 1);

/** The place of a dead letter in the order of the table's key, with its id. */
const placeSchema = z.object({ source: z.string(), origin: z.string(), position: z.int(), id: z.string() });
const BEFORE_ALL = { source: "", origin: "", position: 0, id: "" };
const IDS_PER_PAGE = 20_000;

const selectedIds = defineQuery({
  name: "selected-dead-letters",
  sql: `SELECT source, origin, position, id FROM (${SELECTED})
    WHERE (source, origin, position, id) > ({afterSource:String}, {afterOrigin:String}, {afterPosition:UInt64}, {afterId:String})
    ORDER BY source, origin, position, id LIMIT {limit:UInt32}`,
  params: params.extend({
    afterSource: z.string(),
    afterOrigin: z.string(),
    afterPosition: z.int(),
    afterId: z.string(),
    limit: z.int(),
  }),
  row: placeSchema,
});

/** The ids of all selected dead letters in the order of the table's key, some at a time. */
export async function* readSelectedIds(client: ClickHouseClient, filter: DeadLetterFilter): AsyncGenerator<string[]> {
  let after: z.infer<typeof placeSchema> = BEFORE_ALL;
  for (;;) {
    const { source: afterSource, origin: afterOrigin, position: afterPosition, id: afterId } = after;
    const cursor = { afterSource, afterOrigin, afterPosition, afterId, limit: IDS_PER_PAGE };
    const page = await run(client, selectedIds, { ...paramsOf(filter), ...cursor });
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
  await mutate(client, {
    table: "dead_letters",
    change: `DELETE WHERE ${WHERE} AND id IN (SELECT id FROM (${SELECTED}))`,
    params: paramsOf(filter),
    // Replicas may select differently. Then ClickHouse lets one fetch what the other has made.
    settings: { allow_nondeterministic_mutations: 1 },
  });
}
