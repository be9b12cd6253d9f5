import { defineOperation, errorResponse, type Operation } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { count, MAX_RECORDS } from "../http/operation.ts";

const hecAnswerSchema = z.strictObject({ text: z.string(), code: z.int() }).meta({ id: "EventCollectorAnswer" });
const hecStoredSchema = hecAnswerSchema
  .extend({ accepted: count, rejected: count, ignored: count })
  .meta({ id: "EventCollectorResult" });

/** `POST /services/collector/event`: Splunk's HTTP Event Collector, which Cowrie and most shippers speak. */
export const postSplunkEvents = defineOperation({
  id: "postSplunkEvents",
  method: "POST",
  path: "/services/collector/event",
  keyOf: "sensor",
  group: "Intake",
  summary: "Store what a Splunk client sends",
  description:
    "Events in the envelopes of Splunk's HTTP Event Collector, one after the other; `Authorization: Splunk <sensor key>`. " +
    "An envelope's `host` and `time` count for an event that names no sensor, or has no time. " +
    "`sourcetype` may name a format, like `cowrie`; else each record is recognised by itself. The answer comes once the " +
    "accepted ones are safe; the rejected ones are kept as dead letters.",
  pathParameters: {},
  queryParameters: [],
  body: {
    description: "Envelopes with an `event` each.",
    schema: z.looseObject({ event: z.union([z.string(), z.looseObject({})]), sourcetype: z.string().optional() }),
    example: {
      sourcetype: "cowrie",
      event: {
        eventid: "cowrie.session.connect",
        timestamp: "2026-11-20T14:03:09.5Z",
        session: "07041be58d34",
        sensor: "honeypot-1",
        src_ip: "192.175.48.6",
        dst_port: 22,
        protocol: "ssh",
      },
    },
  },
  success: {
    status: 200,
    description: "They are stored, and those that are rejected are kept as dead letters.",
    schema: hecStoredSchema,
    example: { text: "Success", code: 0, accepted: 1, rejected: 0, ignored: 0 },
  },
  errorResponses: {
    400: errorResponse("The body holds no events.", "No data"),
    413: errorResponse("The body is too large.", `The request body has more than ${MAX_RECORDS} observations`),
    415: errorResponse("The Content-Encoding is not supported.", "Content-Encoding must be gzip or left out"),
    422: {
      description: "None was accepted.",
      schema: z
        .strictObject({ message: z.string(), accepted: count, rejected: count, ignored: count })
        .meta({ id: "EventCollectorRejection" }),
      example: { message: "not-json: the record is not JSON", accepted: 0, rejected: 1, ignored: 0 },
    },
  },
});

/** The same under the names that other clients have for it. */
export const postSplunkEventsUnversioned = defineOperation({
  ...postSplunkEvents,
  id: "postSplunkEventsUnversioned",
  path: "/services/collector",
});
export const postSplunkEventsVersioned = defineOperation({
  ...postSplunkEvents,
  id: "postSplunkEventsVersioned",
  path: "/services/collector/event/1.0",
});

/** Splunk's own words, by which shippers tell the two apart. */
export const HEC_HEALTHY = { text: "HEC is healthy", code: 17 };
export const HEC_UNHEALTHY = { text: "HEC is unhealthy, queues are full", code: 18 };

/** `GET /services/collector/health`: shippers ask it before they send, without a key. */
export const getSplunkHealth = defineOperation({
  id: "getSplunkHealth",
  method: "GET",
  path: "/services/collector/health",
  keyOf: "sensor",
  group: "Intake",
  summary: "Whether the event collector takes events",
  description:
    "Needs no key; one that is sent must be known. A 503 while nothing can be stored, as when the disk is full.",
  pathParameters: {},
  queryParameters: [],
  success: { status: 200, description: "It does.", schema: hecAnswerSchema, example: HEC_HEALTHY },
  errorResponses: {
    503: { description: "It does not.", schema: hecAnswerSchema, example: HEC_UNHEALTHY },
  },
});

/** The same, as Vector asks it. */
export const getSplunkHealthVersioned = defineOperation({
  ...getSplunkHealth,
  id: "getSplunkHealthVersioned",
  path: "/services/collector/health/1.0",
});

export const SPLUNK_OPERATIONS: readonly Operation[] = [
  postSplunkEvents,
  postSplunkEventsUnversioned,
  postSplunkEventsVersioned,
  getSplunkHealth,
  getSplunkHealthVersioned,
];
