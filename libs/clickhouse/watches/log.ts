import { createHash } from "node:crypto";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { WATCH_LOG } from "../client/table-names.ts";

/** An event as it is stored and delivered. */
export type StoredEvent = {
  readonly id: string;
  readonly workspaceId: string;
  readonly watchId: string;
  /** JSON of a `WatchEvent`, to the byte what webhooks get. */
  readonly body: string;
};

/** What an event told of: numbers of addresses, or hashes, with the time of each in seconds since 1970 UTC. */
export type Told = { readonly subjects: readonly number[]; readonly times: readonly number[] };

/** Where an event stands in the log. */
export type EventPosition = { readonly look: number; readonly index: number };
export const LOG_START: EventPosition = { look: 0, index: 0 };

const headSchema = z.object({
  look: z.int(),
  holder: z.string(),
  /** By the server's clock, as `ageMs`. Milliseconds since 1970 UTC. */
  lookedAt: z.int(),
  /** How long ago that was. */
  ageMs: z.int(),
  position: z.string(),
});
/** The last look of the log. */
export type LogHead = z.infer<typeof headSchema>;

const lastLook = defineQuery({
  name: "last-watch-look",
  sql: `SELECT look, holder, toUnixTimestamp64Milli(looked_at) AS lookedAt,
      toUnixTimestamp64Milli(now64(3, 'UTC')) - lookedAt AS ageMs, position
    FROM ${WATCH_LOG} ORDER BY look DESC LIMIT 1`,
  params: z.object({}),
  row: headSchema,
});

export const readLogHead = async (client: ClickHouseClient): Promise<LogHead | undefined> =>
  (await run(client, lastLook, {})).at(0);

const storeTime = defineQuery({
  name: "store-time",
  sql: "SELECT toUnixTimestamp64Milli(now64(3, 'UTC')) AS now",
  params: z.object({}),
  row: z.object({ now: z.int() }),
});

/** What the store's clock says, in milliseconds since 1970 UTC: watches count by it, as it says when rows were received. */
export const readStoreTime = async (client: ClickHouseClient): Promise<number> =>
  (await runForOne(client, storeTime, {})).now;

/** A look to write. */
export type Look = {
  readonly holder: string;
  readonly position: string;
  readonly events: readonly (StoredEvent & Told)[];
};

const MAX_TOKENS = 20;

/**
 * Writes the look that follows one, unless another process has written it: the token of the insert names what it
 * follows, so that the server takes the first of them. A look that followed the same one before and has expired since
 * has used the token: then nothing follows, and the next token counts.
 * @returns the new head; undefined when another one counts.
 */
export async function appendLook(
  client: ClickHouseClient,
  { holder, position, events }: Look,
  after: LogHead | undefined,
): Promise<LogHead | undefined> {
  const look = (after?.look ?? 0) + 1;
  const followed = after === undefined ? "" : `${after.look} ${after.holder} ${after.lookedAt}`;
  const row = {
    ...{ look, holder, position },
    event_ids: events.map(({ id }) => id),
    workspace_ids: events.map(({ workspaceId }) => workspaceId),
    watch_ids: events.map(({ watchId }) => watchId),
    bodies: events.map(({ body }) => body),
    subjects: events.map(({ subjects }) => subjects),
    subject_times: events.map(({ times }) => times),
  };
  for (let used = 0; used < MAX_TOKENS; used++) {
    const token = createHash("sha256").update(`watch_log ${followed} ${used}`).digest("hex");
    await client.insert({
      table: "watch_log",
      values: [row],
      format: "JSONEachRow",
      clickhouse_settings: { insert_deduplication_token: token },
    });
    const head = await readLogHead(client);
    if (head !== undefined && head.look >= look) return head.look === look && head.holder === holder ? head : undefined;
  }
  return undefined;
}

const events = (order: "ASC" | "DESC") =>
  defineQuery({
    name: "watch-events",
    sql: `SELECT look, number - 1 AS index, toString(event_id) AS id, workspace_id AS workspaceId,
      toString(watch_id) AS watchId, body
    FROM (SELECT look, event_ids, workspace_ids, watch_ids, bodies FROM ${WATCH_LOG}
      WHERE look >= {look:UInt64} AND notEmpty(event_ids) AND looked_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
        AND (empty({workspace:String}) OR has(workspace_ids, {workspace:String}))
        AND (empty({watch:String}) OR has(watch_ids, toUUIDOrZero({watch:String}))))
    ARRAY JOIN event_ids AS event_id, workspace_ids AS workspace_id, watch_ids AS watch_id, bodies AS body,
      arrayEnumerate(event_ids) AS number
    WHERE (look, index) >= ({look:UInt64}, {index:UInt64})
      AND (empty({workspace:String}) OR workspace_id = {workspace:String})
      AND (empty({watch:String}) OR watch_id = toUUIDOrZero({watch:String}))
    ORDER BY look ${order}, index ${order} LIMIT {limit:UInt32}`,
    params: z.object({
      look: z.int(),
      index: z.int(),
      since: z.int(),
      workspace: z.string(),
      watch: z.string(),
      limit: z.int(),
    }),
    row: z.object({
      look: z.int(),
      index: z.int(),
      id: z.string(),
      workspaceId: z.string(),
      watchId: z.string(),
      body: z.string(),
    }),
  });
const oldestEvents = events("ASC");
const newestEvents = events("DESC");

export type LoggedEvent = StoredEvent & EventPosition;

/** Which events to read: of one workspace, of one watch, from a place in the log on, since a time in ms since 1970 UTC. */
export type EventFilter = {
  readonly workspaceId?: string;
  readonly watchId?: string;
  readonly from?: EventPosition;
  readonly since?: number;
  readonly limit: number;
};

/** Events in the order of the log. */
export const readEvents = (
  client: ClickHouseClient,
  { workspaceId = "", watchId = "", from = LOG_START, since = 0, limit }: EventFilter,
): Promise<LoggedEvent[]> =>
  run(client, oldestEvents, { ...from, since, workspace: workspaceId, watch: watchId, limit });

/** The last events of the log, in its order. */
export const readNewestEvents = async (
  client: ClickHouseClient,
  { workspaceId, watchId = "", limit }: Pick<EventFilter, "watchId" | "limit"> & { readonly workspaceId: string },
): Promise<LoggedEvent[]> =>
  (
    await run(client, newestEvents, { ...LOG_START, since: 0, workspace: workspaceId, watch: watchId, limit })
  ).reverse();

const told = defineQuery({
  name: "watch-told",
  sql: `SELECT toString(watch_id) AS watchId, toUnixTimestamp64Milli(looked_at) AS lookedAt, subject_list AS subjects,
      time_list AS times
    FROM ${WATCH_LOG}
    ARRAY JOIN watch_ids AS watch_id, subjects AS subject_list, subject_times AS time_list
    WHERE look > {after:UInt64} ORDER BY look`,
  params: z.object({ after: z.int() }),
  row: z.object({ watchId: z.string(), lookedAt: z.int(), subjects: z.array(z.int()), times: z.array(z.int()) }),
});

/** What the events after a look told of, in the order of the log. */
export const readTold = (client: ClickHouseClient, after: number): Promise<z.output<(typeof told)["row"]>[]> =>
  run(client, told, { after });
