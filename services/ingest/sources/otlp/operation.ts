import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { z } from "zod";
import { MAX_BODY_BYTES, MAX_RECORDS } from "../http/operation.ts";

export const PROTOBUF =
  "Logs are read in JSON: set encoding: json in the Collector's otlphttp exporter, or OTEL_EXPORTER_OTLP_PROTOCOL=http/json";

/** `POST /v1/logs`: OTLP over HTTP, which the OpenTelemetry Collector and its libraries speak. */
export const postOtlpLogs = defineOperation({
  id: "postOtlpLogs",
  method: "POST",
  path: "/v1/logs",
  keyOf: "sensor",
  group: "Intake",
  summary: "Store what an OpenTelemetry exporter sends",
  description:
    `Logs of OTLP in JSON, at most ${MAX_RECORDS} and ${MAX_BODY_BYTES / 1024 / 1024} MiB, after unpacking when ` +
    "`Content-Encoding` is gzip. The body of each log record is a record: a line, JSON in a text, or key-value pairs. " +
    "A resource's `host.name`, `k8s.pod.name` or `service.instance.id`, and a log record's time, count for a record that " +
    "names no sensor, or has no time. `service.name` may name a format, like `cowrie`; else each record is recognised. " +
    "The answer comes once the accepted ones are safe; the rejected ones are kept as dead letters.",
  pathParameters: {},
  queryParameters: [],
  body: {
    description: "An `ExportLogsServiceRequest`.",
    schema: z.looseObject({ resourceLogs: z.array(z.looseObject({})).optional() }),
    example: {
      resourceLogs: [
        {
          resource: { attributes: [{ key: "host.name", value: { stringValue: "honeypot-1" } }] },
          scopeLogs: [
            {
              logRecords: [
                {
                  timeUnixNano: "1795179789500000000",
                  body: {
                    stringValue:
                      '{"eventid":"cowrie.session.connect","timestamp":"2026-11-20T14:03:09.5Z","session":"07041be58d34",' +
                      '"src_ip":"192.175.48.6","dst_port":22,"protocol":"ssh"}',
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  },
  success: {
    status: 200,
    description: "They are stored, and those that are rejected are kept as dead letters: nothing need be sent again.",
    schema: z
      .strictObject({
        partialSuccess: z
          .strictObject({
            rejectedLogRecords: z
              .string()
              .regex(/^\d+$/)
              .describe("How many records were rejected; a body of several lines is as many records."),
            errorMessage: z.string().describe("Why the first was."),
          })
          .optional()
          .describe("Left out when none was rejected."),
      })
      .meta({ id: "OtlpLogsResult" }),
    example: {
      partialSuccess: { rejectedLogRecords: "1", errorMessage: "not-json: the record is not JSON" },
    },
  },
  errorResponses: {
    400: errorResponse("The body is not what OTLP sends.", "The request body is no JSON object"),
    413: errorResponse("The body is too large.", `The request body has more than ${MAX_RECORDS} observations`),
    415: errorResponse("The body is Protobuf, or its Content-Encoding is not supported.", PROTOBUF),
  },
});
