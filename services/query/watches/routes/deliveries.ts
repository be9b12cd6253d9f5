import { randomUUID } from "node:crypto";
import { DELIVERY_STATES, readDeliveriesOf } from "@noisefloor/clickhouse/watches/deliveries.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import { ignoreBody } from "@noisefloor/http/operations/implement.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { managerOf } from "../../feeds/requests/readers.ts";
import { LIMIT } from "../../parameters.ts";
import { count, none, timestamp, uuid } from "../../wire.ts";
import type { WatchRouteDeps } from "./deps.ts";
import { EXAMPLE_WATCH, NO_WATCH, UNAUTHORIZED, WATCH_ID, WATCH_NOT_FOUND, WATCHES } from "./wire-watch.ts";

const deliverySchema = z
  .strictObject({
    event_id: uuid,
    destination: z.string().describe("The `id` of the destination."),
    state: z.enum(DELIVERY_STATES),
    attempts: count,
    last_status: count.describe("Of HTTP; 0 without one."),
    last_error: z.string(),
    last_attempt_at: timestamp.or(none),
    next_attempt_at: timestamp.or(none).describe("Empty unless it is pending."),
  })
  .meta({ id: "WatchDelivery" });

/** `GET /v3/watches/{id}/deliveries`. */
export const listDeliveries = defineOperation({
  ...WATCHES,
  id: "listWatchDeliveries",
  method: "GET",
  path: "/v3/watches/{id}/deliveries",
  summary: "How the deliveries of a watch's events go",
  description: "Those that were tried, the last ones first. They are kept 90 days.",
  pathParameters: { id: WATCH_ID },
  queryParameters: [LIMIT],
  success: {
    status: 200,
    description: "The deliveries.",
    schema: z.strictObject({ deliveries: z.array(deliverySchema) }).meta({ id: "WatchDeliveries" }),
    example: {
      deliveries: [
        {
          event_id: "0f9b7c52-4f0e-4d3e-9d0a-1c6d4a4f2b77",
          destination: EXAMPLE_WATCH.deliver[0]?.id,
          state: "pending",
          attempts: 2,
          last_status: 503,
          last_error: "HTTP 503",
          last_attempt_at: "2026-11-20T13:21:05Z",
          next_attempt_at: "2026-11-20T13:23:05Z",
        },
      ],
    },
  },
  errorResponses: { 401: UNAUTHORIZED, 404: WATCH_NOT_FOUND },
});

const NO_EVENT = "Nothing of this event is left to deliver";

/** `POST /v3/watches/{id}/deliveries/{event_id}/retry`. */
export const retryDelivery = defineOperation({
  ...WATCHES,
  id: "retryWatchDelivery",
  method: "POST",
  path: "/v3/watches/{id}/deliveries/{event_id}/retry",
  summary: "Tries to deliver an event again, to each destination that does not have it",
  description: "Also one whose delivery has failed for good. An event that all have goes to all again.",
  pathParameters: {
    id: WATCH_ID,
    event_id: {
      schema: z.string(),
      description: "The id of an event.",
      errorMessage: "Invalid parameter: event_id",
      example: "0f9b7c52-4f0e-4d3e-9d0a-1c6d4a4f2b77",
    },
  },
  queryParameters: [],
  success: {
    status: 202,
    description: "It is tried at once, and further as a new event is.",
    schema: z.strictObject({ message: z.string() }).meta({ id: "WatchRetry" }),
    example: { message: "The event is delivered again" },
  },
  errorResponses: { 401: UNAUTHORIZED, 404: errorResponse("There is no such watch or event.", NO_EVENT) },
});

/** `POST /v3/watches/{id}/test`. */
export const testWatch = defineOperation({
  ...WATCHES,
  id: "testWatch",
  method: "POST",
  path: "/v3/watches/{id}/test",
  summary: "Sends an event of the type `test` to the destinations of a watch, and says what came back",
  description: "Once to each; nothing is tried again. The members of the answer are those of the first that failed.",
  pathParameters: { id: WATCH_ID },
  queryParameters: [],
  success: {
    status: 200,
    description: "What came back.",
    schema: z
      .strictObject({
        success: z.boolean(),
        status_code: count.describe("Of HTTP; 0 without one."),
        response_body: z.string().describe("The beginning of the answer, or why there was none."),
      })
      .meta({ id: "WatchTest" }),
    example: { success: true, status_code: 200, response_body: "ok" },
  },
  errorResponses: {
    401: UNAUTHORIZED,
    404: WATCH_NOT_FOUND,
    409: errorResponse("The watch has no destination.", "The watch delivers to nobody"),
  },
});

export const DELIVERY_OPERATIONS = [listDeliveries, retryDelivery, testWatch] as const;

const WITHOUT_BODY = { onRequest: ignoreBody };

export function registerDeliveries(app: FastifyInstance, deps: WatchRouteDeps): void {
  const { watches, publicUrl, now } = deps;
  const ownWatch = async (request: FastifyRequest<{ Params: { id: string } }>) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    await watches.cache.refresh();
    const watch = watches.cache.byId(request.params.id);
    if (watch?.workspaceId !== workspaceId) throw new HttpError(404, NO_WATCH);
    return watch;
  };

  app.implement(listDeliveries, async (request) => {
    const watch = await ownWatch(request);
    const found = await readDeliveriesOf(watches.client, watch.id, readParameter(request.query, LIMIT));
    const timeOf = (ms: number) => (ms === 0 ? ("" as const) : formatTimestamp(ms));
    return {
      deliveries: found.map((each) => ({
        event_id: each.eventId,
        destination: each.destinationId,
        state: each.state,
        attempts: each.attempts,
        last_status: each.lastStatus,
        last_error: each.lastError,
        last_attempt_at: timeOf(each.lastAttemptAt),
        next_attempt_at: each.state === "pending" ? timeOf(each.nextAttemptAt) : ("" as const),
      })),
    };
  });

  app.implement(
    retryDelivery,
    async (request) => {
      const watch = await ownWatch(request);
      if (!(await watches.retry(watch, request.params.event_id))) throw new HttpError(404, NO_EVENT);
      return { message: "The event is delivered again" };
    },
    WITHOUT_BODY,
  );

  app.implement(
    testWatch,
    async (request, _reply, { signal }) => {
      const watch = await ownWatch(request);
      if (watch.deliver.length === 0) throw new HttpError(409, "The watch delivers to nobody");
      const event: WatchEvent = {
        id: randomUUID(),
        type: "test",
        watch: { id: watch.id, name: watch.name },
        detected_at: formatTimestamp(now()),
        summary: `A test of the watch ${watch.name}`,
        link: `${publicUrl}/watches/${watch.id}`,
        data: {},
      };
      const stored = { id: event.id, workspaceId: watch.workspaceId, watchId: watch.id, body: JSON.stringify(event) };
      const sent = await Promise.all(watch.deliver.map((destination) => watches.send(destination, stored, signal)));
      const told = sent.find(({ isDelivered }) => !isDelivered) ?? sent[0];
      return {
        success: told?.isDelivered ?? false,
        status_code: told?.status ?? 0,
        response_body: told?.body || told?.error || "",
      };
    },
    WITHOUT_BODY,
  );
}
