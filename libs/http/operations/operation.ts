import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from "fastify";
import { z } from "zod";
import type { ResponseReservation } from "../limits/response-memory.ts";
import { type Deadline, runWithDeadline } from "../requests/deadline.ts";
import type { Parameter, PathParameter, RawQuery } from "../requests/parameters.ts";
import { nameUnknownParameters } from "../requests/unknown-parameters.ts";
import {
  acceptedEncoding,
  compressPieces,
  isText,
  setContentEncoding,
  varyByEncoding,
} from "../response-bodies/compression.ts";
import { isNotModified } from "../response-bodies/etag.ts";
import { MediaBody, mediaBodyMaker, NOT_MODIFIED, type ToMediaBody } from "../response-bodies/media-body.ts";
import {
  type JsonArray,
  jsonArrayMaker,
  serializeResponse,
  streamPieces,
  type ToJsonArray,
} from "../response-bodies/response-body.ts";
import { onClosed } from "../responses/pending-responses.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The id of the operation that a route serves, for logs and metrics. */
    operation?: string;
    /** Whose key the route checks; undefined when it checks none. */
    keyOf?: "workspace" | "sensor";
  }
  interface FastifyInstance {
    /** How long an operation may take before its response is a 503. */
    deadlineMs: number;
  }
}

/** The parameters of a path such as `/v3/tags/{id}/activity`. */
type NamesIn<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | NamesIn<Rest>
    : never;

/** A response as OpenAPI describes it: its body's schema and an example of it. */
export type Answer<Schema extends z.ZodType = z.ZodType> = {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
  /** Of the body with the schema; JSON unless given. */
  readonly mediaType?: string;
  /** The media types that a request may get instead, each with an example: texts, or bytes without a schema. */
  readonly otherMediaTypes?: Readonly<Record<string, string>>;
  /** Integer header fields: their descriptions by name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Header fields with texts: their descriptions by name. */
  readonly textHeaders?: Readonly<Record<string, string>>;
};

/**
 * One operation of an HTTP interface: its path, parameters and responses. The same schemas parse its parameters, type
 * its handler and describe it in OpenAPI, so that none of the three can drift from the others.
 */
export type Operation<Path extends string = string, Body extends z.ZodType = z.ZodType> = {
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** With parameters in braces, as OpenAPI writes it. */
  readonly path: Path;
  /** Whose key it checks; a workspace's by default. */
  readonly keyOf?: "workspace" | "sensor";
  /** Its OpenAPI tag. */
  readonly group: string;
  readonly summary: string;
  readonly description?: string;
  readonly pathParameters: Readonly<Record<NamesIn<Path>, PathParameter>>;
  readonly queryParameters: readonly Parameter<unknown>[];
  readonly body?: {
    /** JSON unless given. Generated clients know only these. */
    readonly mediaType?: "application/octet-stream" | "multipart/form-data";
    readonly description: string;
    readonly schema: z.ZodType;
    readonly example: unknown;
  };
  /** A 204 has no body: its handler resolves to {@link NO_CONTENT}. */
  readonly success: Answer<Body> & { readonly status: 200 | 201 | 202 | 204 };
  /** Its error responses by status, besides those that all operations have in common. */
  readonly errorResponses: Readonly<Record<number, Answer>>;
};

export function defineOperation<const Path extends string, Body extends z.ZodType>(
  operation: Operation<Path, Body>,
): Operation<Path, Body> {
  return operation;
}

/** Response bodies may be made of shared, immutable data. */
type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[] | JsonArray<Immutable<Item>>
  : T extends object
    ? { readonly [Name in keyof T]: Immutable<T[Name]> }
    : T;

/** The success of an operation whose answer is a 204. */
export const NO_CONTENT = Symbol("no content");

/** The success of an operation that has nothing to say. */
export const NOTHING = { schema: z.never(), example: undefined } as const;

/** An error response that is no exception: where every second request gets one, to throw it costs too much. */
export class ErrorResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    this.status = status;
    this.body = body;
  }
}

export type OperationRequest<Path extends string> = FastifyRequest<{
  Params: Record<NamesIn<Path>, string>;
  Querystring: RawQuery;
}>;

/** What large bodies are made with: piece by piece, within the memory for responses. */
type BodyMakers = {
  /** For response members with many items. */
  readonly toJsonArray: ToJsonArray;
  /** For a body that is not JSON. */
  readonly toMediaBody: ToMediaBody;
};

export type OperationHandler<Path extends string, Body extends z.ZodType> = (
  request: OperationRequest<Path>,
  reply: FastifyReply,
  deadline: Deadline,
  bodyMakers: BodyMakers,
) => Promise<Immutable<z.input<Body>> | MediaBody | typeof NOT_MODIFIED | typeof NO_CONTENT | ErrorResponse>;

/** `/v3/tags/{id}` as the router spells it: `/v3/tags/:id`. */
export function routeOf({ path }: Pick<Operation, "path">): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

const JSON_TYPE = "application/json; charset=utf-8";

type OperationOptions = RouteShorthandOptions & { readonly deadlineMs?: number; readonly hasEtag?: boolean };

/**
 * Adds an operation to an application. The handler resolves to the body of the success response: what its schema says,
 * a {@link MediaBody} of another media type, or {@link NOT_MODIFIED} for a 304. For an error response it throws an
 * HttpError, or resolves to an {@link ErrorResponse}. The compiler and the tests check the bodies of successes against
 * the schema; at run time nothing does.
 * @param deadlineMs how long the operation may take before its response is a 503; the application's limit by default.
 * @param hasEtag whether successes carry an `ETag`, and clients that have the body already get a 304.
 */
export function registerOperation<Path extends string, Body extends z.ZodType>(
  app: FastifyInstance,
  operation: Operation<Path, Body>,
  handler: OperationHandler<Path, NoInfer<Body>>,
  { deadlineMs = app.deadlineMs, hasEtag = false, onRequest, ...options }: OperationOptions = {},
): void {
  const known = new Set(operation.queryParameters.flatMap(({ name, alsoCalled = [] }) => [name, ...alsoCalled]));
  app.route<{ Params: Record<NamesIn<Path>, string>; Querystring: RawQuery }>({
    ...options,
    method: operation.method,
    url: routeOf(operation),
    config: { ...options.config, operation: operation.id, keyOf: operation.keyOf ?? "workspace" },
    onRequest: [
      nameUnknownParameters(known),
      ...(operation.method === "DELETE" ? [allowNoBody] : []),
      ...[onRequest ?? []].flat(),
    ],
    handler: async (request, reply) => {
      const memory = app.responseMemory.reserve(request);
      // Not before the connection is done with it: what the client has not read is still in memory.
      onClosed(reply.raw, () => memory.release());
      try {
        const answer = await runWithDeadline(reply.raw, deadlineMs, async (deadline) => {
          const success = reply.code(operation.success.status);
          const result = await handler(request, success, deadline, {
            toJsonArray: jsonArrayMaker(memory, deadline),
            toMediaBody: mediaBodyMaker(memory, deadline),
          });
          if (result === NOT_MODIFIED) return 304;
          if (result === NO_CONTENT) return 204;
          if (result instanceof ErrorResponse) {
            reply.code(result.status);
            return { mediaType: JSON_TYPE, body: JSON.stringify(result.body) };
          }
          const isMedia = result instanceof MediaBody;
          const mediaType = isMedia ? result.mediaType : (operation.success.mediaType ?? JSON_TYPE);
          const body = isMedia ? result.pieces : await serializeResponse(result, memory, deadline);
          if (hasEtag && isNotModified(request, reply, body)) return 304;
          if (typeof body === "string" || body.length < 2 || !isText(mediaType)) return { mediaType, body };
          varyByEncoding(reply);
          const encoding = acceptedEncoding(request);
          if (encoding === undefined) return { mediaType, body };
          const compressed = await compressPieces(body, encoding, memory, deadline);
          setContentEncoding(reply, encoding);
          return { mediaType, body: compressed };
        });
        if (typeof answer === "number") return reply.code(answer).send();
        // Not before: an error response is JSON.
        reply.type(answer.mediaType);
        return sendable(answer, reply, memory);
      } catch (error) {
        memory.release();
        reply.removeHeader("etag");
        throw error;
      }
    },
  });
}

/** Many clients name a type of the body that they do not send with a DELETE: Fastify would look for the body. */
async function allowNoBody({ raw: { headers } }: FastifyRequest): Promise<void> {
  const { "content-length": length = "0", "transfer-encoding": encoding } = headers;
  if (length === "0" && encoding === undefined) delete headers["content-type"];
}

type Answered = { readonly mediaType: string; readonly body: string | readonly Buffer[] };

/** A body of several pieces is streamed, at the pace at which the client reads it. */
function sendable({ mediaType, body }: Answered, reply: FastifyReply, memory: ResponseReservation) {
  // As bytes where it is no plain JSON: Fastify would rewrite the media type of a text, with quotes around a version.
  if (typeof body === "string") return mediaType === JSON_TYPE ? body : Buffer.from(body);
  const [first = Buffer.alloc(0), ...more] = body;
  if (more.length === 0) return first;
  reply.header(
    "content-length",
    body.reduce((bytes, piece) => bytes + piece.length, 0),
  );
  return streamPieces(body, memory);
}
