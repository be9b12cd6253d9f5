import { defineOperation, errorResponse, NOTHING } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { count, MAX_BODY_BYTES, MAX_RECORDS } from "../http/operation.ts";

export const PROTOBUF =
  "Streams are read in JSON, as Fluent Bit, Vector and Logstash send them: Promtail and Alloy send Protobuf alone";

/** `POST /loki/api/v1/push`: what clients of Grafana Loki send. */
export const postLokiStreams = defineOperation({
  id: "postLokiStreams",
  method: "POST",
  path: "/loki/api/v1/push",
  keyOf: "sensor",
  group: "Intake",
  summary: "Store what a Loki client sends",
  description:
    `Streams of Loki in JSON, at most ${MAX_RECORDS} lines and ${MAX_BODY_BYTES / 1024 / 1024} MiB, after unpacking when ` +
    "`Content-Encoding` is gzip. Each line is a record. The labels `host`, `hostname`, `instance` or `pod`, and a line's time, " +
    "count for a record that names no sensor, or has no time. The label `job` or `service_name` may name a format, like " +
    "`cowrie`; else each record is recognised. The answer comes once the accepted ones are safe; the rejected ones are " +
    "kept as dead letters.",
  pathParameters: {},
  queryParameters: [],
  body: {
    description: "Streams.",
    schema: z.looseObject({ streams: z.array(z.looseObject({})) }),
    example: {
      streams: [
        {
          stream: { job: "cowrie", host: "honeypot-1" },
          values: [
            [
              "1795179789500000000",
              '{"eventid":"cowrie.session.connect","timestamp":"2026-11-20T14:03:09.5Z","session":"07041be58d34",' +
                '"src_ip":"192.175.48.6","dst_port":22,"protocol":"ssh"}',
            ],
          ],
        },
      ],
    },
  },
  success: {
    status: 204,
    description: "They are stored, and those that are rejected are kept as dead letters.",
    ...NOTHING,
  },
  errorResponses: {
    400: {
      description: "The body is not what Loki's clients send, or none was accepted: nothing need be sent again.",
      schema: z
        .strictObject({
          message: z.string(),
          accepted: count.optional(),
          rejected: count.optional(),
          ignored: count.optional(),
        })
        .meta({ id: "LokiRejection" }),
      example: { message: "not-json: the record is not JSON", accepted: 0, rejected: 1, ignored: 0 },
    },
    413: errorResponse("The body is too large.", `The request body has more than ${MAX_RECORDS} observations`),
    415: errorResponse("The body is Protobuf, or its Content-Encoding is not supported.", PROTOBUF),
  },
});
