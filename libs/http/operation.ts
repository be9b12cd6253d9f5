import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from "fastify";
import type { z } from "zod";
import { type JsonArray, jsonArrayMaker, serializeAnswer, streamPieces, type ToJsonArray } from "./answer-body.ts";
import { startDeadline } from "./deadline.ts";
import type { AnswerReservation } from "./limits/answer-memory.ts";
import type { Parameter, PathParameter, RawQuery } from "./parameters.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The id of the operation that a route serves, for logs and metrics. */
    operation?: string;
    /** Whose key the route checks. Routes without it check none. */
    keyOf?: "workspace" | "sensor";
  }
  interface FastifyInstance {
    /** How long an operation's answer may take before it is a 503. */
    deadlineMs: number;
  }
}

/** The names between braces in a path like `/v3/tags/{id}/activity`. */
type NamesIn<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | NamesIn<Rest>
    : never;

/** An answer as it is described: its body's schema and a body that fits it. */
export type Answer<Schema extends z.ZodType = z.ZodType> = {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
  /** Header fields with whole numbers by name, with what they say. */
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * One operation of an HTTP interface: the home of its path, its parameters and its answers. The same schemas read its
 * parameters, type its handler and make its description, so that none of the three can drift from the others.
 */
export type Operation<Path extends string = string, Body extends z.ZodType = z.ZodType> = {
  readonly id: string;
  readonly method: "GET" | "POST";
  /** With parameters in braces, as OpenAPI writes it. */
  readonly path: Path;
  /** Whose key it takes; a workspace's unless said otherwise. */
  readonly keyOf?: "workspace" | "sensor";
  /** The heading that it stands under. */
  readonly group: string;
  readonly summary: string;
  readonly description?: string;
  readonly pathParameters: Readonly<Record<NamesIn<Path>, PathParameter>>;
  readonly queryParameters: readonly Parameter<unknown>[];
  readonly body?: {
    readonly mediaTypes: readonly string[];
    readonly description: string;
    readonly schema: z.ZodType;
    readonly example: unknown;
  };
  readonly success: Answer<Body> & { readonly status: 200 | 202 };
  /** Every other answer by status, but for those that all operations have in common. */
  readonly refusals: Readonly<Record<number, Answer>>;
};

export function defineOperation<const Path extends string, Body extends z.ZodType>(
  operation: Operation<Path, Body>,
): Operation<Path, Body> {
  return operation;
}

/** Answers are made of data that nobody may change any more. */
type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[] | JsonArray<Immutable<Item>>
  : T extends object
    ? { readonly [Name in keyof T]: Immutable<T[Name]> }
    : T;

export type OperationRequest<Path extends string> = FastifyRequest<{
  Params: Record<NamesIn<Path>, string>;
  Querystring: RawQuery;
}>;

export type OperationHandler<Path extends string, Body extends z.ZodType> = (
  request: OperationRequest<Path>,
  reply: FastifyReply,
  /** Aborts when the answer is not worth working on any more. */
  signal: AbortSignal,
  /** For members with many items. */
  toJsonArray: ToJsonArray,
) => Promise<Immutable<z.input<Body>>>;

/** `/v3/tags/{id}` as the router spells it: `/v3/tags/:id`. */
export function routeOf({ path }: Pick<Operation, "path">): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

/**
 * Adds an operation to an application. What the handler resolves to is the body of the success; every refusal is thrown
 * as an HttpError. Answers are checked by the compiler and in tests, not each time.
 * @param deadlineMs how long an answer may take before it is a 503; the application's own unless said otherwise.
 */
export function registerOperation<Path extends string, Body extends z.ZodType>(
  app: FastifyInstance,
  operation: Operation<Path, Body>,
  handler: OperationHandler<Path, NoInfer<Body>>,
  { deadlineMs = app.deadlineMs, ...options }: RouteShorthandOptions & { readonly deadlineMs?: number } = {},
): void {
  app.route<{ Params: Record<NamesIn<Path>, string>; Querystring: RawQuery }>({
    ...options,
    method: operation.method,
    url: routeOf(operation),
    config: { ...options.config, operation: operation.id, keyOf: operation.keyOf ?? "workspace" },
    handler: async (request, reply) => {
      const deadline = startDeadline(reply.raw, deadlineMs);
      const { signal } = deadline;
      const memory = app.answerMemory.reserve(request);
      // Not earlier: what a client does not read stays in memory.
      reply.raw.once("close", memory.release);
      const make = async () => {
        const success = reply.code(operation.success.status);
        const answer = await handler(request, success, signal, jsonArrayMaker(memory, signal));
        return serializeAnswer(answer, memory, signal);
      };
      try {
        return sendable(await Promise.race([make(), deadline.passed]), reply, memory);
      } catch (error) {
        deadline.giveUp(error);
        memory.release();
        throw error;
      } finally {
        deadline.end();
      }
    },
  });
}

/** A large body is written as its client reads it. */
function sendable(pieces: readonly Buffer[], reply: FastifyReply, memory: AnswerReservation) {
  reply.type("application/json; charset=utf-8");
  const [first, ...more] = pieces;
  if (first !== undefined && more.length === 0) return first;
  reply.header(
    "content-length",
    pieces.reduce((bytes, piece) => bytes + piece.length, 0),
  );
  return streamPieces(pieces, memory);
}
