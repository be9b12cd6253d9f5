import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import { clientNetwork } from "@noisefloor/domain/client-address.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HttpError } from "./errors.ts";
import { type MemoryBudget, memoryBudget, type Reservation } from "./memory-budget.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route's own scope receives its bodies, out of a budget of its own. */
    receivesBodies?: boolean;
  }
  interface FastifyInstance {
    /** How often a body under way is looked at. */
    bodyCheckMs: number;
  }
  interface FastifyRequest {
    /** What the request takes in memory; undefined where no body is expected. */
    reservation: Reservation | undefined;
  }
}

/** How long a whole request may take to arrive. */
export const REQUEST_TIMEOUT_MS = 120_000;
export const BODY_CHECK_MS = 5_000;
/** Checks in a row that a body may fail: a process that was busy for long finds much unread that has long arrived. */
const MAX_SLOW_CHECKS = 2;
/** No body is so slow but one whose sender has stalled, or wants to hold our memory. */
const MIN_BYTES_PER_SECOND = 500;

export type BodyOptions = {
  readonly budget: MemoryBudget;
  /** Whose share of the budget a request takes. */
  readonly senderOf: (request: FastifyRequest) => string;
  /** What is answered, as a 503, while there is no memory for a body. */
  readonly busyMessage: string;
  /** Whether bodies may come as gzip: counted is what they unpack to. */
  readonly unpacksGzip?: boolean;
  readonly appliesTo?: (request: FastifyRequest) => boolean;
};

/** What the bodies of requests that ask something may take together. */
const QUESTION_BYTES = 32 * 1024 * 1024;

/**
 * Receives the bodies of all routes that do not receive them themselves. A client is its address whatever key it sends:
 * keys are checked only later, and invented ones would each have a share.
 */
export function receiveQuestions(app: FastifyInstance): void {
  app.decorateRequest("reservation", undefined);
  receiveBodies(app, {
    budget: memoryBudget(QUESTION_BYTES),
    senderOf: (request) => clientNetwork(request.ip, request.socket.remoteAddress),
    busyMessage: "Too many request bodies are under way: send the request again in a few seconds",
    appliesTo: ({ method, routeOptions }) => method === "POST" && routeOptions.config.receivesBodies !== true,
  });
}

/**
 * Counts the bodies of an application's requests against a budget as they come, for as long as their answers take, and
 * ends those that come too slowly with a 408: what has arrived of them would stay in memory.
 */
export function receiveBodies(app: FastifyInstance, options: BodyOptions): void {
  const { budget, senderOf, busyMessage, unpacksGzip = false, appliesTo = () => true } = options;
  const busy = () => new HttpError(503, busyMessage);
  app.addHook("onRequest", async (request, reply) => {
    if (!appliesTo(request)) return;
    const sender = senderOf(request);
    if (!budget.hasSpace(contentLength(request), sender)) throw busy();
    request.reservation = budget.reserve(sender);
    reply.raw.once("close", request.reservation.hold());
  });
  app.addHook("preParsing", async (request, reply, payload) => {
    if (!appliesTo(request)) return payload;
    const { reservation } = request;
    const isGzip = unpacksGzip && request.headers["content-encoding"]?.toLowerCase() === "gzip";
    let arrived = 0;
    // Counted as they come: what a header says of a body is only what its sender says.
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        arrived += chunk.length;
        return reservation?.grow(chunk.length) ? done(null, chunk) : done(busy());
      },
    });
    read(payload, isGzip ? [createGunzip(), counted] : [counted], reply);
    endWhenSlow(counted, () => arrived, app.bodyCheckMs, reply);
    return isGzip ? Object.assign(counted, { receivedEncodedLength: contentLength(request) }) : counted;
  });
}

/** Sends a body through these stages, of which the last is read, until its answer is over. */
function read(payload: Readable, stages: readonly Transform[], reply: FastifyReply): void {
  const last = stages.at(-1);
  payload.on("error", (error) => last?.destroy(error));
  let source = payload;
  for (const stage of stages) {
    // Whoever reads the body hears of its errors. Of a body that is refused unread nobody would, and an error that
    // nobody hears of ends the process.
    stage.on("error", (error) => stage !== last && last?.destroy(error));
    source = source.pipe(stage);
  }
  reply.raw.once("close", () => {
    // Else it would go on to unpack the rest. That is still read, for the connection's next request is behind it.
    payload.unpipe();
    for (const stage of stages) stage.destroy();
    payload.resume();
  });
}

/**
 * Between two checks a body must bring at least {@link MIN_BYTES_PER_SECOND} and as much of what it has brought so far as
 * the time is of {@link REQUEST_TIMEOUT_MS}: at an even pace no body fails that which comes within the time at all.
 * Unpacked bytes count, for it is they that take memory.
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
    // The rest, should it ever come, would stand before the connection's next request.
    reply.header("connection", "close");
    body.destroy(new HttpError(408, "The request body arrived too slowly: send it again"));
  };
  const timer = setInterval(check, intervalMs);
  timer.unref();
  const stop = () => clearInterval(timer);
  body.once("finish", stop).once("close", stop);
}

function contentLength(request: FastifyRequest): number {
  return Number(request.headers["content-length"] ?? 0);
}
