import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import { observationSchema } from "@noisefloor/domain/observation/schema.ts";
import { errorResponse } from "@noisefloor/http/openapi.ts";
import { defineOperation } from "@noisefloor/http/operation.ts";
import { z } from "zod";

/** The largest request body, after it is unpacked. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** The most observations in one request. */
export const MAX_RECORDS = 50_000;
/** How many rejections an answer lists one by one; the counts by reason cover all. */
export const LISTED_REJECTIONS = 100;

const reason = z.enum(REJECTION_REASONS);
const count = z.int().min(0);

const answerSchema = z
  .strictObject({
    accepted: count,
    rejected: count,
    reasons: z.partialRecord(reason, count.min(1)).describe("How many were rejected for each reason."),
    rejections: z
      .array(z.strictObject({ position: count.min(1), reason, detail: z.string() }))
      .max(LISTED_REJECTIONS)
      .describe(`The first ${LISTED_REJECTIONS}, by their place in the body, from 1.`),
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
    "`Content-Encoding` is gzip. One object, an array of them, or NDJSON, whatever the Content-Type says. The answer " +
    "comes once the accepted ones are safe; the rejected ones are kept as dead letters with their bytes and reason, up to a quota per key and day. An " +
    "`observation_id` names one observation for good.",
  pathParameters: {},
  queryParameters: [],
  body: {
    mediaTypes: ["application/json", "application/x-ndjson"],
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
      reasons: { "unknown-tag": 1 },
      rejections: [{ position: 2, reason: "unknown-tag", detail: 'no tag is called "ssh-scaner"' }],
    },
  },
  errorResponses: {
    400: errorResponse(
      "The body is empty, or neither NDJSON nor a JSON array, or not the gzip it says it is.",
      "The request body is empty",
    ),
    413: errorResponse("The body is too large.", `The request body has more than ${MAX_RECORDS} observations`),
    415: errorResponse("The Content-Encoding is not supported.", "Content-Encoding must be gzip or left out"),
  },
});
