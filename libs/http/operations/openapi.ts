import { z } from "zod";
import { createDocument, createSchema, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from "zod-openapi";
import { REJECTION_ERRORS } from "../limits/rejections.ts";
import { isText } from "../response-bodies/compression.ts";
import { MALFORMED_REQUEST } from "../responses/connections.ts";
import { type Answer, errorResponse, type Operation } from "./operation.ts";

/** SPEC, Versioning: the version in the OpenAPI document. */
const INTERFACE_VERSION = "3.0.0";

/** The error responses that every operation may have. */
const COMMON_ERRORS: Readonly<Record<number, Answer>> = {
  400: errorResponse("The request is not as HTTP wants it.", MALFORMED_REQUEST),
  401: errorResponse("The key is not known.", "Unauthorized"),
  403: errorResponse(
    "A web page of another origin sent it, or it was sent to a name that is not known here.",
    "Web pages of other origins may not send this: CORS_ORIGINS does not list the origin",
  ),
  408: errorResponse("The request did not arrive in time.", "The request took too long to arrive: send it again"),
  429: errorResponse(
    "Too many large queries, or unread answers, of this caller at once.",
    REJECTION_ERRORS.caller_queue_full.message,
  ),
  431: errorResponse("The request's header is too large.", "The request header is too large"),
  500: errorResponse("Something went wrong on our side.", "Encountered error while performing request"),
  503: errorResponse(
    "The store cannot be reached, the service is too busy, or the answer took longer than the time limit.",
    "The store cannot be reached at the moment: send the request again later",
  ),
};

export type OpenApiDocument = ReturnType<typeof createDocument>;

/**
 * Describes operations as OpenAPI 3.1. The key is never required: callers without one have a plan too.
 * @param options `program`: the version of the program that serves them; the document has the interface's own.
 * `basePath`: see `basePathOf`.
 */
export function describeOperations(
  operations: readonly Operation[],
  { program, basePath = "" }: { readonly program?: string | undefined; readonly basePath?: string } = {},
): OpenApiDocument {
  const paths: ZodOpenApiPathsObject = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(operation) };
  }
  return createDocument({
    openapi: "3.1.0",
    info: {
      title: "Noisefloor",
      version: INTERFACE_VERSION,
      description:
        "Internet scan-noise intelligence from your own sensors: is an address background noise or a known benign " +
        "service, how many distinct addresses did a tag have per time bucket, and which ones? All times are UTC." +
        (program === undefined ? "" : ` Served by Noisefloor ${program}.`),
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: basePath || "/" }],
    tags: [...new Set(operations.map(({ group }) => group))].map((name) => ({ name })),
    components: {
      securitySchemes: {
        workspaceKey: {
          type: "apiKey",
          in: "header",
          name: "key",
          description: "A workspace's key. Without one, or with an empty one, the plan is `unauthenticated`.",
        },
        bearerKey: { type: "http", scheme: "bearer", description: "The same key, for clients that send it this way." },
        sensorKey: {
          type: "apiKey",
          in: "header",
          name: "key",
          description: "A sensor's key, which says where it may publish to. Needed as soon as there are any.",
        },
      },
    },
    paths,
  });
}

function describe(operation: Operation): ZodOpenApiOperationObject {
  const { body, success, errorResponses } = operation;
  const answers = {
    [success.status]: success,
    ...COMMON_ERRORS,
    ...errorResponses,
    ...tooManyRequests(errorResponses[429]),
  };
  return {
    operationId: operation.id,
    tags: [operation.group],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: [{}, { [operation.keyOf === "sensor" ? "sensorKey" : "workspaceKey"]: [] }, { bearerKey: [] }],
    parameters: [
      ...Object.entries(operation.pathParameters).map(([name, { description, schema, example }]) => ({
        in: "path" as const,
        name,
        required: true,
        description,
        schema: createSchema(schema, { io: "input" }).schema,
        example,
      })),
      ...operation.queryParameters.map(({ name, description, takes, schema, describedBy, example }) => ({
        in: "query" as const,
        name,
        ...(schema.safeParse(undefined).success ? {} : { required: true }),
        // In the description, not as `example`: documentation pages would fill that in and send it.
        description: `${description} Takes ${takes}; for example \`${example}\`.`,
        schema: createSchema(schema, { io: describedBy }).schema,
      })),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            description: body.description,
            content: { [body.mediaType ?? "application/json"]: { schema: body.schema, example: body.example } },
          },
        }),
    responses: Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer)])),
  };
}

/** An operation with a 429 of its own also has the common one: both bodies are possible. */
function tooManyRequests(own: Answer | undefined): Record<number, Answer> {
  const common = COMMON_ERRORS[429];
  if (own === undefined || common === undefined) return {};
  const description = `${own.description} Or: ${common.description}`;
  return { 429: { ...own, description, schema: z.union([own.schema, common.schema]) } };
}

/** Every response may have this header field, for a request that names a parameter wrongly. */
const UNKNOWN_PARAMETERS_HEADER = {
  description:
    'The query parameters that were ignored, as the operation has no such: a List of Strings (RFC 9651), for example `"slugs"`.',
  schema: { type: "string" as const },
};

function describeAnswer(answer: Answer) {
  const { description, schema, example, mediaType = "application/json", otherMediaTypes = {} } = answer;
  const describeHeaders = (headers: Answer["headers"] = {}, type: "integer" | "string") =>
    Object.fromEntries(
      Object.entries(headers).map(([name, meaning]) => [name, { description: meaning, schema: { type } }]),
    );
  const others = Object.entries(otherMediaTypes).map(([type, text]) => [
    type,
    isText(type)
      ? { schema: { type: "string" as const }, example: text }
      : { schema: { type: "string" as const, format: "binary" } },
  ]);
  const content = { [mediaType]: { schema, example }, ...Object.fromEntries(others) };
  return {
    description,
    headers: {
      ...describeHeaders(answer.headers, "integer"),
      ...describeHeaders(answer.textHeaders, "string"),
      "Unknown-Parameters": UNKNOWN_PARAMETERS_HEADER,
    },
    // First the one with the schema: some generators know only the first.
    ...(schema instanceof z.ZodNever ? {} : { content }),
  };
}
