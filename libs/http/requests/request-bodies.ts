import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import { MEMORY_LIMITS } from "@noisefloor/config/memory.ts";
import { clientNetwork } from "@noisefloor/domain/address/client-address.ts";
import { inflateChunkBytes } from "@noisefloor/domain/inflate-chunk.ts";
import { callAfterYield, createPace } from "@noisefloor/domain/time/yield.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HttpError } from "../responses/errors.ts";
import { onClosed } from "../responses/pending-responses.ts";
import { contentLength } from "./content-length.ts";
import { discard } from "./discard-bodies.ts";
import { type MemoryBudget, memoryBudget, type Reservation } from "./memory-budget.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route calls {@link limitBodies} itself, with a budget of its own. */
    hasOwnBodyLimits?: boolean;
  }
  interface FastifyInstance {
    /** How often the pace of an arriving body is checked. */
    bodyCheckMs: number;
  }
  interface FastifyRequest {
    /** The memory of the request's body; undefined where none is expected. */
    reservation: Reservation | undefined;
  }
}

/** How long a whole request may take to arrive. */
export const REQUEST_TIMEOUT_MS = 120_000;
export const BODY_CHECK_MS = 5_000;
/** Checks in a row that a body may fail: after a long block of the event loop one finds nothing read yet. */
const MAX_SLOW_CHECKS = 2;
/** Other requests get a turn before a larger body is parsed and validated. */
const LARGE_BODY_BYTES = 32 * 1024;
/** Parsing the largest takes ten milliseconds. */
const TURNS_AFTER_BODY = 32;
/** How much of a large body is read before other requests get their turn: libuv alone would read up to 2 MiB. */
const BYTES_BEFORE_YIELD = 128 * 1024;
/** Slower senders have stalled, or want to hold our memory. */
const MIN_BYTES_PER_SECOND = 500;

export type BodyLimitOptions = {
  readonly budget: MemoryBudget;
  /** Whose share of the budget a request takes. */
  readonly senderOf: (request: FastifyRequest) => string;
  /** The message of the 503 while there is no memory for a body. */
  readonly busyMessage: string;
  /** Whether bodies may be gzip; they count decompressed. */
  readonly acceptsGzip?: boolean;
  readonly appliesTo?: (request: FastifyRequest) => boolean;
};

/** Every other method may have a body, which a route may read. */
const mayHaveBody = (method: string) => method !== "GET" && method !== "HEAD";

/**
 * The sender of a request whose key is not checked yet: its client address, as each invented key would get a share.
 */
export const senderNetwork = (request: FastifyRequest): string =>
  clientNetwork(request.ip, request.socket.remoteAddress);

/** Limits the bodies of all routes without limits of their own. */
export function limitDefaultBodies(app: FastifyInstance): void {
  app.decorateRequest("reservation", undefined);
  limitBodies(app, {
    budget: memoryBudget(MEMORY_LIMITS.bodies),
    senderOf: senderNetwork,
    busyMessage: "Too many request bodies at once: send the request again in a few seconds",
    appliesTo: ({ method, routeOptions }) => mayHaveBody(method) && routeOptions.config.hasOwnBodyLimits !== true,
  });
}

/**
 * Counts request bodies against a memory budget as they arrive, until their response is over, and ends those that
 * arrive too slowly with a 408, because what has arrived of them stays in memory.
 */
export function limitBodies(app: FastifyInstance, options: BodyLimitOptions): void {
  const { budget, senderOf, busyMessage, acceptsGzip = false, appliesTo = () => true } = options;
  // Created once, see REJECTION_ERRORS.
  const busyError = new HttpError(503, busyMessage);
  app.addHook("onRequest", (request, reply, done) => {
    if (!appliesTo(request)) return done();
    const sender = senderOf(request);
    if (!budget.hasSpace(contentLength(request), sender)) return done(busyError);
    request.reservation = budget.reserve(sender);
    onClosed(reply.raw, request.reservation.hold());
    done();
  });
  app.addHook("preParsing", (request, reply, payload, done) => {
    if (!appliesTo(request)) return done(null, payload);
    const { reservation } = request;
    const isGzip = acceptsGzip && request.headers["content-encoding"]?.toLowerCase() === "gzip";
    let arrived = 0;
    const pace = createPace(BYTES_BEFORE_YIELD);
    // Counted as the bytes arrive: Content-Length is only what the sender claims.
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        arrived += chunk.length;
        if (!reservation?.grow(chunk.length)) done(busyError);
        else pace(chunk.length, () => done(null, chunk));
      },
      flush: (done) => (arrived < LARGE_BODY_BYTES ? done() : callAfterYield(done, TURNS_AFTER_BODY)),
    });
    const chunkSize = inflateChunkBytes(contentLength(request));
    pipeBody(payload, isGzip ? [createGunzip({ chunkSize }), counted] : [counted], reply);
    endWhenSlow(counted, () => arrived, app.bodyCheckMs, reply);
    done(null, isGzip ? Object.assign(counted, { receivedEncodedLength: contentLength(request) }) : counted);
  });
}

/** Pipes a body through the stages, of which Fastify reads the last, until the response is over. */
function pipeBody(payload: Readable, stages: readonly Transform[], reply: FastifyReply): void {
  const last = stages.at(-1);
  payload.on("error", (error) => last?.destroy(error));
  let source = payload;
  for (const stage of stages) {
    // A request that is rejected before its body is read has no reader to handle the stream's errors, and an unhandled
    // error ends the process.
    stage.on("error", (error) => stage !== last && last?.destroy(error));
    source = source.pipe(stage);
  }
  onClosed(reply.raw, () => {
    // Stop decompressing, but not reading: the connection's next request comes after the rest.
    payload.unpipe();
    for (const stage of stages) stage.destroy();
    discard(payload);
  });
}

/**
 * Between two checks a body must grow by {@link MIN_BYTES_PER_SECOND}, and by the same fraction of what has arrived as
 * the interval is of {@link REQUEST_TIMEOUT_MS}: so a body with an even pace that arrives in time at all passes.
 * Decompressed bytes count, because those take memory.
 */
function endWhenSlow(body: Transform, arrived: () => number, intervalMs: number, reply: FastifyReply): void {
  let atLastCheck = 0;
  let slowChecks = 0;
  const check = () => {
    const least = Math.max(
      (MIN_BYTES_PER_SECOND * intervalMs) / 1_000,
      (atLastCheck * intervalMs) / REQUEST_TIMEOUT_MS,
    );
    slowChecks = arrived() - atLastCheck < least ? slowChecks + 1 : 0;
    atLastCheck = arrived();
    if (slowChecks < MAX_SLOW_CHECKS) return;
    // The rest, should it ever arrive, would precede the connection's next request.
    reply.header("connection", "close");
    body.destroy(new HttpError(408, "The request body arrived too slowly: send it again"));
  };
  const timer = setInterval(check, intervalMs);
  timer.unref();
  const stop = () => clearInterval(timer);
  body.once("finish", stop).once("close", stop);
}
