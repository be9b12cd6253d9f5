import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from "node:zlib";
import { negotiate } from "@fastify/accept-negotiator";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ResponseReservation } from "../limits/response-memory.ts";

/** Shorter bodies are sent as they are: compressing them saves no packet, and lookups shall not wait for it. */
const LEAST_BYTES = 1024;
/** The size in which a compressed body is kept. */
const CHUNK_BYTES = 64 * 1024;
/** Levels of about the same speed, the fastest of gzip: an answer may have tens of megabytes. */
const GZIP = { level: constants.Z_BEST_SPEED, chunkSize: CHUNK_BYTES };
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 2, [constants.BROTLI_PARAM_LGWIN]: 18 },
  chunkSize: CHUNK_BYTES,
};

const gzipped = promisify<Buffer, typeof GZIP, Buffer>(gzip);
const brotlied = promisify<Buffer, typeof BROTLI, Buffer>(brotliCompress);

export type ContentEncoding = "br" | "gzip";
/** In order of preference. A client may also prefer the plain body. */
const OFFERED = ["br", "gzip", "identity"];

/** The encoding in which a client wants bodies; undefined for plain ones, also when it names none. */
export function acceptedEncoding({ headers }: FastifyRequest, offered = OFFERED): ContentEncoding | undefined {
  const accepted = headers["accept-encoding"];
  if (accepted === undefined || accepted === "identity") return undefined;
  const encoding = negotiate(accepted.toLowerCase(), offered);
  return encoding === "br" || encoding === "gzip" ? encoding : undefined;
}

/** Says that another client may get the same in another encoding. */
export function varyByEncoding(reply: FastifyReply): void {
  const vary = reply.getHeader("vary");
  reply.header("vary", vary === undefined ? "accept-encoding" : `${vary}, accept-encoding`);
}

export const isText = (type: unknown) =>
  /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|x-ndjson|openmetrics-text)\b)/.test(String(type));

/** Names the encoding of a body. A strong `ETag` becomes that of the encoded body, as these are other bytes. */
export function setContentEncoding(reply: FastifyReply, encoding: ContentEncoding): void {
  reply.header("content-encoding", encoding);
  const tag = String(reply.getHeader("etag") ?? "");
  if (tag.startsWith('"')) reply.header("etag", tag.replace(/"$/, `-${encoding}"`));
}

/**
 * Compresses bodies that are at hand as a whole, for clients that accept it. Streams are left as they are: a compressor
 * for each would take memory for as long as its client reads. No body holds a secret beside what its caller sent, so
 * its length reveals none (BREACH).
 */
export function compressBodies(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    if (typeof payload !== "string" && !Buffer.isBuffer(payload)) return done();
    if (payload.length < LEAST_BYTES || reply.hasHeader("content-encoding")) return done();
    if (!isText(reply.getHeader("content-type"))) return done();
    varyByEncoding(reply);
    const encoding = acceptedEncoding(request);
    if (encoding === undefined) return done();
    const bytes = Buffer.from(payload);
    const compressed = encoding === "br" ? brotlied(bytes, BROTLI) : gzipped(bytes, GZIP);
    compressed.then((body) => {
      setContentEncoding(reply, encoding);
      done(null, body);
    }, done);
  });
}

/**
 * Compresses a large body before its first byte is sent. Memory is reserved for what is left of it and for what has
 * been compressed.
 * @throws the reservation's error, and the signal's reason.
 */
export async function compressPieces(
  pieces: readonly Buffer[],
  encoding: ContentEncoding,
  memory: ResponseReservation,
  signal: Pick<AbortSignal, "throwIfAborted">,
): Promise<readonly Buffer[]> {
  const compressed: Buffer[] = [];
  await pipeline(
    takePieces(pieces, memory, signal),
    encoding === "br" ? createBrotliCompress(BROTLI) : createGzip(GZIP),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        memory.grow(chunk.length);
        compressed.push(chunk);
      }
    },
  );
  return compressed;
}

function* takePieces(
  pieces: readonly Buffer[],
  memory: ResponseReservation,
  signal: Pick<AbortSignal, "throwIfAborted">,
): Generator<Buffer> {
  for (const piece of pieces) {
    signal.throwIfAborted();
    memory.shrink(piece.length);
    yield piece;
  }
}
