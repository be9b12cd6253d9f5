import { Readable } from "node:stream";
import { type EventPosition, LOG_START, readEvents, readNewestEvents } from "@noisefloor/clickhouse/watches/log.ts";
import { eventSchema } from "@noisefloor/domain/watches/event.ts";
import { EVENTS_KEPT_DAYS } from "@noisefloor/domain/watches/watch.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { credentialOf } from "@noisefloor/http/requests/key.ts";
import { pageToken } from "@noisefloor/http/requests/page-token.ts";
import { boolean, type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { onClosed } from "@noisefloor/http/responses/pending-responses.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { managerOf } from "../../feeds/requests/readers.ts";
import { LIMIT } from "../../parameters.ts";
import { atomFeed } from "./atom.ts";
import type { WatchRouteDeps } from "./deps.ts";
import { openStream } from "./stream.ts";
import { NO_WATCH, UNAUTHORIZED, WATCH_ID, WATCH_NOT_FOUND, WATCHES } from "./wire-watch.ts";

export const AFTER = pageToken<EventPosition>({
  name: "after",
  takes: "the `cursor` of an earlier answer",
  description: "Events that came since an answer, by its `cursor`; left out, from the oldest that is kept on.",
  example: "eyJwb3NpdGlvbiI6eyJsb29rIjoxNywiaW5kZXgiOjF9fQ",
  position: z.object({ look: z.int().min(0), index: z.int().min(0) }),
});

export const EXAMPLE_EVENT = {
  id: "0f9b7c52-4f0e-4d3e-9d0a-1c6d4a4f2b77",
  type: "network_seen",
  watch: { id: WATCH_ID.example, name: "one of ours scans" },
  detected_at: "2026-11-20T13:20:30Z",
  summary: "198.51.100.7 of the watched network 198.51.100.0/24 was seen: SSH Bruteforcer",
  link: `https://noisefloor.example.org/watches/${WATCH_ID.example}`,
  data: {
    count: 1,
    truncated: false,
    addresses: [
      {
        ip: "198.51.100.7",
        network: "198.51.100.0/24",
        first_seen: "2026-11-20T13:20:26Z",
        last_seen: "2026-11-20T13:20:26Z",
        classification: "malicious",
        tags: ["ssh-bruteforcer"],
      },
    ],
  },
};
const NEWEST = boolean({
  name: "newest",
  description: "The newest events in the place of the oldest, in the same order; not beside `after`.",
});
const success = {
  status: 200 as const,
  description: "Events, the oldest first.",
  schema: z
    .strictObject({
      events: z.array(eventSchema),
      cursor: z.string().describe("For `after`, also while there is nothing new."),
      has_more: z.boolean(),
    })
    .meta({ id: "WatchEvents" }),
  example: { events: [EXAMPLE_EVENT], cursor: AFTER.format({ look: 17, index: 1 }), has_more: false },
};
const KEPT = `They are kept ${EVENTS_KEPT_DAYS} days.`;
const WRONG_AFTER = errorResponse(
  "`after` or `limit` is invalid.",
  "Invalid parameter: after takes the `cursor` of an earlier answer",
);

/** `GET /v3/watches/events`. */
export const listEvents = defineOperation({
  ...WATCHES,
  id: "listWatchEvents",
  method: "GET",
  path: "/v3/watches/events",
  summary: "The events of all watches of a workspace",
  description: `${KEPT} Those of deleted watches, too.`,
  pathParameters: {},
  queryParameters: [AFTER.parameter, NEWEST, LIMIT],
  success,
  errorResponses: { 400: WRONG_AFTER, 401: UNAUTHORIZED },
});

/** `GET /v3/watches/{id}/events`. */
export const listEventsOfWatch = defineOperation({
  ...WATCHES,
  id: "listEventsOfWatch",
  method: "GET",
  path: "/v3/watches/{id}/events",
  summary: "The events of a watch",
  description: KEPT,
  pathParameters: { id: WATCH_ID },
  queryParameters: [AFTER.parameter, NEWEST, LIMIT],
  success,
  errorResponses: { 400: WRONG_AFTER, 401: UNAUTHORIZED, 404: WATCH_NOT_FOUND },
});

export const EVENT_OPERATIONS = [listEvents, listEventsOfWatch] as const;

/** The place after an event. */
export const after = ({ look, index }: EventPosition): EventPosition => ({ look, index: index + 1 });

const MAX_ENTRIES = 100;
const MAX_STREAMS = 20;

export function registerEvents(app: FastifyInstance, deps: WatchRouteDeps): void {
  const { client, cache } = deps.watches;
  const answer = async (request: FastifyRequest<{ Querystring: RawQuery }>, workspaceId: string, watchId?: string) => {
    const isNewest = readParameter(request.query, NEWEST);
    const position = AFTER.read(request.query, undefined);
    if (isNewest && position !== undefined) throw new HttpError(400, "Invalid parameter: newest, beside after");
    const from = position ?? LOG_START;
    const limit = readParameter(request.query, LIMIT);
    const filter = { workspaceId, ...(watchId !== undefined && { watchId }) };
    const found = isNewest
      ? await readNewestEvents(client, { ...filter, limit })
      : await readEvents(client, { ...filter, from, limit: limit + 1 });
    const events = found.slice(0, limit);
    const last = events.at(-1);
    return {
      events: events.map(({ body }) => eventSchema.parse(JSON.parse(body))),
      cursor: AFTER.format(last === undefined ? from : after(last)),
      has_more: found.length > events.length,
    };
  };
  app.implement(listEvents, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    return answer(request, workspaceId);
  });
  app.implement(listEventsOfWatch, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    const watch = cache.byId(request.params.id);
    if (watch?.workspaceId !== workspaceId) throw new HttpError(404, NO_WATCH);
    return answer(request, workspaceId, watch.id);
  });

  /** Readers of feeds send a key as the password of HTTP Basic. */
  const callerOf = (request: FastifyRequest) =>
    deps.accessCache.callerOf(credentialOf(request, ["key", "bearer", "basic"]));
  const readerOf = (request: FastifyRequest): string => {
    const caller = callerOf(request);
    if (caller?.workspaceId === undefined) throw new HttpError(401, "Unauthorized");
    request.workspaceId = caller.workspaceId;
    return caller.workspaceId;
  };
  app.get("/v3/watches/events.atom", async (request, reply) => {
    const workspaceId = readerOf(request);
    const newest = await readNewestEvents(client, { workspaceId, limit: MAX_ENTRIES });
    reply.type("application/atom+xml; charset=utf-8");
    return Buffer.from(atomFeed(newest.reverse(), deps.publicUrl));
  });
  const closing = new AbortController();
  app.addHook("preClose", async () => closing.abort());
  const streams = new Map<string, number>();
  app.get("/v3/watches/events/stream", async (request, reply) => {
    const workspaceId = readerOf(request);
    const open = streams.get(workspaceId) ?? 0;
    if (open >= MAX_STREAMS) throw new HttpError(429, `A workspace has at most ${MAX_STREAMS} streams at a time`);
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, closing.signal]);
    // Counted before it opens: many may ask at the same time.
    streams.set(workspaceId, open + 1);
    onClosed(reply.raw, () => {
      gone.abort();
      streams.set(workspaceId, (streams.get(workspaceId) ?? 1) - 1);
    });
    const { "last-event-id": last } = request.headers;
    const isAllowed = () => callerOf(request)?.workspaceId === workspaceId;
    const stream = await openStream({ workspaceId, client, isAllowed, signal, lastEventId: last && String(last) });
    // nginx would keep events back, and a connection that is kept would keep a shutdown waiting.
    reply.header("x-accel-buffering", "no").header("connection", "close").type("text/event-stream; charset=utf-8");
    return Readable.from(stream);
  });
}
