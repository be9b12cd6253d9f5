import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import { observationSchema, sensorIdSchema } from "@noisefloor/domain/observation/schema.ts";
import { defineOperation, errorResponse, type Operation } from "@noisefloor/http/operations/operation.ts";
import type { Parameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { AUTO, LOG_FORMATS } from "../../formats/all.ts";
import { IGNORED } from "../../formats/format.ts";
import { observationsFormat } from "../../formats/observations.ts";

/** The largest request body, after it is unpacked. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** The most observations in one request. */
export const MAX_RECORDS = 50_000;
/** How many rejections an answer lists one by one; the counts by reason cover all. */
export const LISTED_REJECTIONS = 100;

const FORMAT_NAMES = [AUTO, ...LOG_FORMATS.map(({ name }) => name)];

/** `format`: what the records are. */
export const FORMAT: Parameter<string> = {
  name: "format",
  description:
    "What the records are: our own `observations`, the log of a sensor like `cowrie` or `suricata-eve`, or `auto`, " +
    "which recognises each record by itself.",
  takes: `one of ${FORMAT_NAMES.join(", ")}, or the name of a field map`,
  schema: z.enum(FORMAT_NAMES).default(observationsFormat.name),
  describedBy: "output",
  example: "cowrie",
};

/** `sensor`: the sensor of all records. */
export const SENSOR: Parameter<string | undefined> = {
  name: "sensor",
  description: "The sensor of all records in a sensor's own format, whatever they say.",
  takes: "the name of a sensor, at most 128 characters",
  schema: sensorIdSchema.optional(),
  describedBy: "output",
  example: "honeypot-1",
};

/** The message of a 422. */
export const NONE_ACCEPTED = "No record was accepted: the rejections say why";

const reason = z.enum(REJECTION_REASONS);
/** A number of records. */
export const count = z.int().min(0);

const ignoredReason = z.enum(Object.keys(IGNORED));

const answerSchema = z
  .strictObject({
    accepted: count.describe(
      "Stored, alone or as a part of their session's observation: fewer observations than this may be new.",
    ),
    rejected: count,
    ignored: count.describe(
      "Records of a sensor's log that are known to be no observations, like its own traffic. All that were read are " +
        "accepted, rejected or ignored.",
    ),
    reasons: z.partialRecord(reason, count.min(1)).describe("How many were rejected for each reason."),
    ignored_reasons: z.partialRecord(ignoredReason, count.min(1)).describe("How many were ignored for each reason."),
    rejections: z
      .array(z.strictObject({ position: count.min(1), reason, detail: z.string() }))
      .max(LISTED_REJECTIONS)
      .describe(`The first ${LISTED_REJECTIONS}, by their place among the records of the body, from 1.`),
  })
  .meta({ id: "IntakeAnswer" });

/** `POST /v1/observations`: NDJSON or a JSON array, plain or gzip. */
export const postObservations = defineOperation({
  id: "postObservations",
  method: "POST",
  path: "/v1/observations",
  keyOf: "sensor",
  group: "Intake",
  summary: "Store what sensors saw",
  description:
    `At most ${MAX_RECORDS} observations and ${MAX_BODY_BYTES / 1024 / 1024} MiB, after unpacking when ` +
    "`Content-Encoding` is gzip. One object, an array of them, or lines, whatever the Content-Type says. The key comes " +
    "as header `key`, or as password of HTTP Basic authentication. The answer " +
    "comes once the accepted ones are safe; the rejected ones are kept as dead letters with their bytes and reason, up to a quota per key and day. An " +
    "`observation_id` names one observation for good. The same body sent again after a failure is the same observations, " +
    "and so is all that comes with one `Idempotency-Key`.",
  pathParameters: {},
  queryParameters: [FORMAT, SENSOR],
  body: {
    description: "Observations.",
    schema: z.union([observationSchema, z.array(observationSchema)]),
    example: {
      observed_at: "2026-11-20T14:03:09.5Z",
      sensor_id: "my-sensor",
      source_ip: "192.175.48.6",
      transport: "tcp",
      destination_port: 22,
      tags: ["ssh-scanner"],
    },
  },
  success: {
    status: 202,
    description: "What became of them.",
    schema: answerSchema,
    example: {
      accepted: 1,
      rejected: 1,
      ignored: 0,
      reasons: { "unknown-tag": 1 },
      ignored_reasons: {},
      rejections: [{ position: 2, reason: "unknown-tag", detail: 'no tag is called "ssh-scaner"' }],
    },
  },
  errorResponses: {
    422: {
      description: "None was accepted.",
      schema: answerSchema.extend({ message: z.string() }).meta({ id: "IntakeRejection" }),
      example: {
        message: NONE_ACCEPTED,
        accepted: 0,
        rejected: 1,
        ignored: 0,
        reasons: { "not-json": 1 },
        ignored_reasons: {},
        rejections: [{ position: 1, reason: "not-json", detail: "the record is not JSON" }],
      },
    },
    400: errorResponse("The body is empty, or not the gzip it says it is.", "The request body is empty"),
    413: errorResponse("The body is too large.", `The request body has more than ${MAX_RECORDS} observations`),
    415: errorResponse("The Content-Encoding is not supported.", "Content-Encoding must be gzip or left out"),
  },
});

/** `POST /v1/observations/lines`: the same, described as bytes. Generated clients drop NDJSON beside JSON. */
export const postObservationLines = defineOperation({
  ...postObservations,
  id: "postObservationLines",
  path: "/v1/observations/lines",
  summary: "Store what sensors saw, from lines",
  description: "The same as `POST /v1/observations`, whose answers it has, for a body that is no JSON as a whole.",
  body: {
    mediaType: "application/octet-stream",
    description: "Observations or records of `format`, one a line: NDJSON, or the text log of a sensor.",
    schema: z.string().meta({ format: "binary" }),
    example: '{"observed_at":"2026-11-20T14:03:09.5Z","sensor_id":"my-sensor","source_ip":"192.175.48.6"}\n',
  },
});

/** `POST /`: what a T-Pot sensor sends when its `TPOT_HIVE_IP` names us. */
export const postTpotBatch = defineOperation({
  id: "postTpotBatch",
  method: "POST",
  path: "/",
  keyOf: "sensor",
  group: "Intake",
  summary: "Store what a T-Pot sensor sends",
  description:
    "A JSON array of the records of T-Pot's Logstash, with the sensor's key as password of HTTP Basic authentication. " +
    "Otherwise the same as `POST /v1/observations?format=tpot`.",
  pathParameters: {},
  queryParameters: [],
  body: {
    description: "Records of T-Pot's Logstash.",
    schema: z.array(z.looseObject({})),
    example: [{ type: "Cowrie", "@timestamp": "2026-11-20T14:03:09.5Z", src_ip: "192.175.48.6", dest_port: 22 }],
  },
  success: postObservations.success,
  errorResponses: postObservations.errorResponses,
});

/** The operations of our own, and T-Pot's. */
export const OBSERVATIONS_OPERATIONS: readonly Operation[] = [postObservations, postObservationLines, postTpotBatch];
