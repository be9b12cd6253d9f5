import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from "fastify";
import type { z } from "zod";
import type { ResponseReservation } from "../limits/response-memory.ts";
import { type Deadline, runWithDeadline } from "../requests/deadline.ts";
import type { Parameter, PathParameter, RawQuery } from "../requests/parameters.ts";
import { nameUnknownParameters } from "../requests/unknown-parameters.ts";
import { acceptedEncoding, compressPieces, varyByEncoding } from "../response-bodies/compression.ts";
import { isNotModified } from "../response-bodies/etag.ts";
import {
  type JsonArray,
  jsonArrayMaker,
  serializeResponse,
  streamPieces,
  type ToJsonArray,
} from "../response-bodies/response-body.ts";
import { onClosed } from "../responses/connections.ts";

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
  /** Integer header fields: their descriptions by name. */
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * One operation of an HTTP interface: its path, parameters and responses. The same schemas parse its parameters, type
 * its handler and describe it in OpenAPI, so that none of the three can drift from the others.
 */
export type Operation<Path extends string = string, Body extends z.ZodType = z.ZodType> = {
  readonly id: string;
  readonly method: "GET" | "POST";
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
    /** JSON unless given. Generated clients know only these two. */
    readonly mediaType?: "application/octet-stream";
    readonly description: string;
    readonly schema: z.ZodType;
    readonly example: unknown;
  };
  readonly success: Answer<Body> & { readonly status: 200 | 202 };
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

export type OperationHandler<Path extends string, Body extends z.ZodType> = (
  request: OperationRequest<Path>,
  reply: FastifyReply,
  deadline: Deadline,
  /** For response members with many items. */
  toJsonArray: ToJsonArray,
) => Promise<Immutable<z.input<Body>> | ErrorResponse>;

/** `/v3/tags/{id}` as the router spells it: `/v3/tags/:id`. */
export function routeOf({ path }: Pick<Operation, "path">): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

type OperationOptions = RouteShorthandOptions & { readonly deadlineMs?: number; readonly hasEtag?: boolean };

/**
 * Adds an operation to an application. The handler resolves to the body of the success response. For an error response
 * it throws an HttpError, or resolves to an {@link ErrorResponse}. The compiler and the tests check the bodies of
 * successes against the schema; at run time nothing does.
 * @param deadlineMs how long the operation may take before its response is a 503; the application's limit by default.
 * @param hasEtag whether successes carry an `ETag`, and clients that have the body already get a 304.
 */
export function registerOperation<Path extends string, Body extends z.ZodType>(
  app: FastifyInstance,
  operation: Operation<Path, Body>,
  handler: OperationHandler<Path, NoInfer<Body>>,
  { deadlineMs = app.deadlineMs, hasEtag = false, onRequest, ...options }: OperationOptions = {},
): void {
  const known = new Set(operation.queryParameters.map(({ name }) => name));
  app.route<{ Params: Record<NamesIn<Path>, string>; Querystring: RawQuery }>({
    ...options,
    method: operation.method,
    url: routeOf(operation),
    config: { ...options.config, operation: operation.id, keyOf: operation.keyOf ?? "workspace" },
    onRequest: [nameUnknownParameters(known), ...[onRequest ?? []].flat()],
    handler: async (request, reply) => {
      const memory = app.responseMemory.reserve(request);
      // Not before the connection is done with it: what the client has not read is still in memory.
      onClosed(reply.raw, () => memory.release());
      try {
        const body = await runWithDeadline(reply.raw, deadlineMs, async (deadline) => {
          const success = reply.code(operation.success.status);
          const result = await handler(request, success, deadline, jsonArrayMaker(memory, deadline));
          if (result instanceof ErrorResponse) {
            reply.code(result.status);
            return JSON.stringify(result.body);
          }
          const plain = await serializeResponse(result, memory, deadline);
          if (hasEtag && isNotModified(request, reply, plain)) return undefined;
          if (typeof plain === "string" || plain.length === 1) return plain;
          varyByEncoding(reply);
          const encoding = acceptedEncoding(request);
          if (encoding === undefined) return plain;
          const compressed = await compressPieces(plain, encoding, memory, deadline);
          reply.header("content-encoding", encoding);
          return compressed;
        });
        return body === undefined ? reply.code(304).send() : sendable(body, reply, memory);
      } catch (error) {
        memory.release();
        reply.removeHeader("etag");
        throw error;
      }
    },
  });
}

/** A body of several pieces is streamed, at the pace at which the client reads it. */
function sendable(body: string | readonly Buffer[], reply: FastifyReply, memory: ResponseReservation) {
  reply.type("application/json; charset=utf-8");
  if (typeof body === "string") return body;
  const [first, ...more] = body;
  if (first !== undefined && more.length === 0) return first;
  reply.header(
    "content-length",
    body.reduce((bytes, piece) => bytes + piece.length, 0),
  );
  return streamPieces(body, memory);
}
