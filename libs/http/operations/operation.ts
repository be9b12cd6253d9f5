import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from "fastify";
import { z } from "zod";
import type { Deadline } from "../requests/deadline.ts";
import type { Parameter, PathParameter, RawQuery } from "../requests/parameters.ts";
import type { MediaBody, NOT_MODIFIED, ToMediaBody } from "../response-bodies/media-body.ts";
import type { JsonArray, ToJsonArray } from "../response-bodies/response-body.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The id of the operation that a route serves, for logs and metrics. */
    operation?: string;
    /** Whose key the route checks; undefined when it checks none. */
    keyOf?: "workspace" | "sensor";
    /** See {@link Operation.isLookup}. */
    isLookup?: boolean;
  }
  interface FastifyInstance {
    /** How long an operation may take before its response is a 503. */
    deadlineMs: number;
    /**
     * Adds an operation to an application. The handler resolves to the body of the success response: what its schema says,
     * a {@link MediaBody} of another media type, or {@link NOT_MODIFIED} for a 304. For an error response it throws an
     * HttpError, or resolves to an {@link ErrorResponse}. The compiler and the tests check the bodies of successes against
     * the schema; at run time nothing does.
     * @param deadlineMs how long the operation may take before its response is a 503; the application's limit by default.
     * @param hasEtag whether successes carry an `ETag`, and clients that have the body already get a 304.
     */
    implement<Path extends string, Body extends z.ZodType>(
      operation: Operation<Path, Body>,
      handler: OperationHandler<Path, NoInfer<Body>>,
      options?: OperationOptions,
    ): void;
  }
}

/** The parameters of a path such as `/v3/tags/{id}/activity`. */
export type NamesIn<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | NamesIn<Rest>
    : never;

/** A response as OpenAPI describes it: its body's schema and an example of it. */
export type Answer<Schema extends z.ZodType = z.ZodType> = {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
  /** The media type of the body with the schema; JSON unless given. */
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
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With parameters in braces, as OpenAPI writes it. */
  readonly path: Path;
  /** Whose key it checks; a workspace's by default. */
  readonly keyOf?: "workspace" | "sensor";
  /** Whether it looks up one address: of its answers the log may have samples only. */
  readonly isLookup?: boolean;
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

export type OperationOptions = RouteShorthandOptions & { readonly deadlineMs?: number; readonly hasEtag?: boolean };

/** SPEC, Error message object: the body of every error response without a schema of its own. */
export const messageSchema = z.strictObject({ message: z.string() }).meta({ id: "Message" });

/** An error response whose body is only a message. */
export function errorResponse(description: string, message: string): Answer {
  return { description, schema: messageSchema, example: { message } };
}
