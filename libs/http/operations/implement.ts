import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { ResponseReservation } from "../limits/response-memory.ts";
import { runWithDeadline } from "../requests/deadline.ts";
import type { RawQuery } from "../requests/parameters.ts";
import { nameUnknownParameters } from "../requests/unknown-parameters.ts";
import {
  acceptedEncoding,
  compressPieces,
  isText,
  setContentEncoding,
  varyByEncoding,
} from "../response-bodies/compression.ts";
import { isNotModified } from "../response-bodies/etag.ts";
import { MediaBody, mediaBodyMaker, NOT_MODIFIED } from "../response-bodies/media-body.ts";
import { jsonArrayMaker, serializeResponse, streamPieces } from "../response-bodies/response-body.ts";
import { onClosed } from "../responses/pending-responses.ts";
import {
  ErrorResponse,
  type NamesIn,
  NO_CONTENT,
  type Operation,
  type OperationHandler,
  type OperationOptions,
  routeOf,
} from "./operation.ts";

/** Lets an application, and each scope of it, implement operations. */
export function registerImplement(app: FastifyInstance): void {
  app.decorate("implement", implement);
}

const JSON_TYPE = "application/json; charset=utf-8";

/** See {@link FastifyInstance.implement}. */
function implement<Path extends string, Body extends z.ZodType>(
  this: FastifyInstance,
  operation: Operation<Path, Body>,
  handler: OperationHandler<Path, NoInfer<Body>>,
  { deadlineMs = this.deadlineMs, hasEtag = false, onRequest, ...options }: OperationOptions = {},
): void {
  const known = new Set(operation.queryParameters.flatMap(({ name, alsoCalled = [] }) => [name, ...alsoCalled]));
  this.route<{ Params: Record<NamesIn<Path>, string>; Querystring: RawQuery }>({
    ...options,
    method: operation.method,
    url: routeOf(operation),
    config: {
      ...options.config,
      operation: operation.id,
      keyOf: operation.keyOf ?? "workspace",
      isLookup: operation.isLookup ?? false,
    },
    onRequest: [
      nameUnknownParameters(known),
      ...[onRequest ?? []].flat(),
      ...(operation.method === "DELETE" ? [ignoreBody] : []),
    ],
    handler: async (request, reply) => {
      const memory = this.responseMemory.reserve(request);
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

/** For requests without a body: Fastify would parse one, or reject its type, which many clients name all the same. */
export async function ignoreBody({ raw: { headers } }: FastifyRequest): Promise<void> {
  for (const name of ["content-type", "content-length", "transfer-encoding"]) delete headers[name];
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
