import { defineOperation, type Operation } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { count, MAX_BODY_BYTES, MAX_RECORDS } from "../http/operation.ts";
import { causeSchema, elasticsearchError } from "./errors.ts";

/** What a document can be sent with: these have one, and the others change documents, which no observation is. */
export const STORING = ["index", "create"] as const;
export const CHANGING = ["update", "delete"] as const;

/** The name of an index. */
export const INDEX: PathParameter = {
  schema: z.string().min(1).max(255),
  description: "Any name. That of a format, like `cowrie`, says what the documents are; else each is recognised.",
  errorMessage: "The name of an index has 1 to 255 characters",
  example: "logstash-2026.11.20",
};

const EXAMPLE_RECORD =
  '{"eventid":"cowrie.session.connect","timestamp":"2026-11-20T14:03:09.5Z","session":"07041be58d34",' +
  '"sensor":"honeypot-1","src_ip":"192.175.48.6","dst_port":22,"protocol":"ssh"}';

const written = {
  _index: z.string(),
  _id: z.string().optional().describe("As it was sent."),
  status: z.int(),
};
const outcomeSchema = z.union([
  z
    .strictObject({
      ...written,
      result: z.enum(["created", "noop"]).describe("`noop`: known to be no observation, and ignored."),
    })
    .meta({ id: "BulkSuccess" }),
  z.strictObject({ ...written, error: causeSchema }).meta({ id: "BulkRejection" }),
]);

const bulkAnswerSchema = z
  .strictObject({
    took: count.describe("Milliseconds."),
    errors: z.boolean().describe("Whether any document was rejected."),
    items: z
      .array(z.partialRecord(z.enum([...STORING, ...CHANGING]), outcomeSchema))
      .describe("What became of each, in their order: 201 accepted or ignored, 400 rejected."),
  })
  .meta({ id: "BulkAnswer" });

const COMMON_ERRORS = {
  400: elasticsearchError(400, "The body cannot be read.", "The request body is empty"),
  401: elasticsearchError(401, "The key is not known.", "Unauthorized"),
  403: elasticsearchError(
    403,
    "A web page of another origin sent it, or the name in Host is not known.",
    "Not from here",
  ),
  408: elasticsearchError(
    408,
    "The request did not arrive in time.",
    "The request body arrived too slowly: send it again",
  ),
  415: elasticsearchError(415, "The Content-Encoding is not supported.", "Content-Encoding must be gzip or left out"),
  429: elasticsearchError(429, "Too many unread answers of this caller.", "Too many requests"),
  500: elasticsearchError(500, "Something went wrong on our side.", "Encountered error while performing request"),
  503: elasticsearchError(
    503,
    "Nothing of it is stored: send it again later.",
    "The store cannot be reached at the moment: send the request again later",
  ),
};

/** `POST /_bulk`: what Elasticsearch's clients send. */
export const postBulk = defineOperation({
  id: "postBulk",
  method: "POST",
  path: "/_bulk",
  keyOf: "sensor",
  group: "Intake",
  summary: "Store what an Elasticsearch client sends",
  description:
    "Pairs of lines, an action (`index` or `create`) and a document, as Logstash, Filebeat, Fluent Bit, Vector and rsyslog " +
    `send them; at most ${MAX_RECORDS} pairs and ${MAX_BODY_BYTES / 1024 / 1024} MiB, after unpacking when ` +
    "`Content-Encoding` is gzip. `Authorization` is Basic with the key as password, or `ApiKey` with `id:key` in base64. " +
    "An `_id` names one observation of its index for good. The answer comes once the accepted ones are safe; the rejected " +
    "ones are kept as dead letters.",
  pathParameters: {},
  queryParameters: [],
  body: {
    mediaType: "application/octet-stream",
    description: "Lines of JSON: actions, each with its document in the next line.",
    schema: z.string().meta({ format: "binary" }),
    example: `{"create":{"_index":"logstash-2026.11.20"}}\n${EXAMPLE_RECORD}\n`,
  },
  success: {
    status: 200,
    description: "What became of each document.",
    schema: bulkAnswerSchema,
    example: {
      took: 12,
      errors: true,
      items: [
        { create: { _index: "logstash-2026.11.20", status: 201, result: "created" } },
        {
          create: {
            _index: "logstash-2026.11.20",
            _id: "7",
            status: 400,
            error: { type: "mapper_parsing_exception", reason: "not-json: the record is not JSON" },
          },
        },
      ],
    },
  },
  errorResponses: {
    ...COMMON_ERRORS,
    413: elasticsearchError(
      413,
      "The body is too large.",
      `The request body has more than ${MAX_RECORDS} observations`,
    ),
  },
});

/** The same, with the index of documents whose action names none. */
export const postIndexBulk = defineOperation({
  ...postBulk,
  id: "postIndexBulk",
  path: "/{index}/_bulk",
  pathParameters: { index: INDEX },
});

/** The same two, as Elasticsearch's client for Python sends them. */
export const putBulk = defineOperation({ ...postBulk, id: "putBulk", method: "PUT" });
export const putIndexBulk = defineOperation({ ...postIndexBulk, id: "putIndexBulk", method: "PUT" });

/** `POST /{index}/_doc`: one document, as Cowrie's own output sends each. */
export const postDocument = defineOperation({
  id: "postDocument",
  method: "POST",
  path: "/{index}/_doc",
  keyOf: "sensor",
  group: "Intake",
  summary: "Store a document of an Elasticsearch client",
  description: "The body is one document. Otherwise the same as `POST /_bulk`.",
  pathParameters: { index: INDEX },
  queryParameters: [],
  body: {
    mediaType: "application/octet-stream",
    description: "A record, in any format.",
    schema: z.string().meta({ format: "binary" }),
    example: EXAMPLE_RECORD,
  },
  success: {
    status: 201,
    description: "It is stored, or known to be no observation.",
    schema: z
      .strictObject({
        _index: z.string(),
        _id: z.string().describe("Means nothing: the document had none."),
        _version: z.literal(1),
        result: z.enum(["created", "noop"]),
        _shards: z.strictObject({ total: count, successful: count, failed: count }),
        _seq_no: count,
        _primary_term: count,
      })
      .meta({ id: "DocumentAnswer" }),
    example: {
      _index: "cowrie",
      _id: "0b1dd92c-2b3f-4d5f-a2b5-9f1f8e6ed5a4",
      _version: 1,
      result: "created",
      _shards: { total: 1, successful: 1, failed: 0 },
      _seq_no: 0,
      _primary_term: 1,
    },
  },
  errorResponses: COMMON_ERRORS,
});

export const ELASTICSEARCH_OPERATIONS: readonly Operation[] = [
  postBulk,
  postIndexBulk,
  putBulk,
  putIndexBulk,
  postDocument,
];
