import type { IncomingMessage } from "node:http";
import { type Readable, Writable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { contentLength } from "./content-length.ts";

/**
 * How much of all rejected bodies together is read in a millisecond. Node copies what arrives into a new buffer each
 * time: at full speed, a dozen senders of 31 MiB keep its garbage collector busy for two seconds.
 */
const BYTES_PER_MS = 16 * 1024;
/** The beginning of each body, which is read without delay. */
const UNPACED_BYTES = 128 * 1024;

/**
 * Discards the body of a request that was rejected without reading it, such as one with an unknown key. Node alone
 * would read such a body as fast as it arrives.
 */
export function discardUnreadBodies(app: FastifyInstance): void {
  app.addHook("onSend", ({ raw }, _reply, payload, done) => {
    if (hasBody(raw) && raw.readableFlowing === null) discard(raw);
    done(null, payload);
  });
}

/** Reads what is left of a body and drops it: the next request on the connection comes after it. */
export function discard(body: Readable): void {
  let unpaced = UNPACED_BYTES;
  const drop = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      unpaced -= chunk.length;
      if (unpaced > 0) done();
      else setTimeout(done, untilRead(chunk.length)).unref();
    },
  });
  body.pipe(drop);
}

/** When the last discarded bytes will have been read. */
let readUntil = 0;

/** Milliseconds until the given number of further bytes has been read. */
function untilRead(bytes: number): number {
  const now = performance.now();
  readUntil = Math.max(readUntil, now) + bytes / BYTES_PER_MS;
  return readUntil - now;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || contentLength({ headers }) > 0;
}
