import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { createGunzip } from "node:zlib";
import type { SensorDirectory } from "@noisefloor/clickhouse/sensor-directory.ts";
import type { PublishRight } from "@noisefloor/domain/publishing.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import { registerOperation } from "@noisefloor/http/operation.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { PlacedRecord } from "../dead-letter.ts";
import { splitPayload } from "../decode.ts";
import { type BatchDeps, countReasons, ingestBatch, type Outcome } from "../pipeline.ts";
import { requestRecordId } from "../record-id.ts";
import { LISTED_REJECTIONS, MAX_BODY_BYTES, MAX_RECORDS, postObservations } from "./intake-operation.ts";
import { roomFor } from "./room.ts";

/**
 * How long storing may take. Longer than for a question: whoever is told that it took too long sends all of it again,
 * and without ids of its own that counts twice.
 */
const STORE_TIMEOUT_MS = 120_000;

/** What all requests under way may hold in memory. While the store is behind they stay, and others are told to wait. */
const MEMORY_BYTES = 256 * 1024 * 1024;
/** Observations as JSON are seldom packed any tighter. */
const USUAL_PACKING = 20;

export type HttpIntakeDeps = Omit<BatchDeps<PlacedRecord>, "right"> & {
  /** Keys of the settings: whoever has one may publish to the shared datasets. */
  readonly sensorKeys: readonly string[];
  /** Keys of the store: each may publish to its one room. */
  readonly sensors: SensorDirectory;
};

/**
 * `POST /v1/observations`: NDJSON or a JSON array, plain or gzip. 202 with what was accepted and rejected, only after
 * the accepted ones are safe.
 */
export function registerIntake(app: FastifyInstance, deps: HttpIntakeDeps): void {
  const room = roomFor(MEMORY_BYTES);
  const rightOf = readRights(deps);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    // Before the body is read: whoever may not publish shall not cost memory either.
    scope.addHook("onRequest", async (request) => void rightOf(request));
    scope.addHook("onRequest", async (request, reply) => {
      const leave = room.enter(memoryFor(request));
      if (leave === undefined) throw new HttpError(503, "The intake is busy: send the request again in a few seconds");
      reply.raw.once("close", leave);
    });
    // Whatever it says, the body is looked at: with it, the framework would refuse a type that is not spelled as one.
    scope.addHook("onRequest", async (request) => void delete request.raw.headers["content-type"]);
    scope.addHook("preParsing", async (request, reply, payload) => {
      const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
      if (encoding === "identity") return payload;
      if (encoding !== "gzip") throw new HttpError(415, "Content-Encoding must be gzip or left out");
      const unpacked = createGunzip();
      // Whoever reads the body hears of its errors. Of a body that is refused unread nobody would, and an error that
      // nobody hears of ends the process.
      unpacked.on("error", () => {});
      payload.on("error", (error) => unpacked.destroy(error));
      reply.raw.once("close", () => {
        // Else it would go on to unpack the rest. That is still read, for the connection's next request is behind it.
        payload.unpipe(unpacked);
        unpacked.destroy();
        payload.resume();
      });
      return Object.assign(payload.pipe(unpacked), { receivedEncodedLength: contentLength(request) });
    });
    registerOperation(
      scope,
      postObservations,
      async (request) => {
        const { accepted, rejected } = await take(request, { ...deps, right: rightOf(request) });
        return {
          accepted,
          rejected: rejected.length,
          reasons: Object.fromEntries(countReasons(rejected)),
          rejections: rejected.slice(0, LISTED_REJECTIONS).map(({ record, rejection }) => ({
            position: record.position,
            ...rejection,
          })),
        };
      },
      { bodyLimit: MAX_BODY_BYTES, deadlineMs: STORE_TIMEOUT_MS },
    );
  });
}

async function take(request: FastifyRequest, deps: BatchDeps<PlacedRecord>): Promise<Outcome<PlacedRecord>> {
  const body = request.body;
  if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "The request body is empty");
  const parts = splitPayload(body, MAX_RECORDS);
  if ("reason" in parts && parts.reason === "too-many-observations") {
    throw new HttpError(413, `The request body has more than ${MAX_RECORDS} observations`);
  }
  if (!Array.isArray(parts))
    throw new HttpError(400, "The request body must be NDJSON or a JSON array of observations");
  const origin = randomUUID();
  const records = parts.map(
    (bytes, index): PlacedRecord => ({
      bytes,
      origin,
      position: index + 1,
      fallbackId: requestRecordId(origin, index),
      right: deps.right,
    }),
  );
  return ingestBatch(records, deps);
}

/**
 * Where a request's key lets it publish to. A key is asked for as soon as there is any. One that is not known is refused
 * also while none is asked for: its sensor counts on a room that its key stands for, and would fill another one.
 * @throws HttpError 401.
 */
function readRights({ sensorKeys, sensors }: HttpIntakeDeps): (request: FastifyRequest) => PublishRight {
  const shared = sensorKeys.map(sha256);
  return (request) => {
    const key = typeof request.headers.key === "string" ? request.headers.key : "";
    if (key === "" && shared.length === 0 && !sensors.hasKeys()) return "shared-datasets";
    const room = sensors.roomOf(key);
    if (room !== undefined) return room;
    const digest = sha256(key);
    // Compared as digests of one length, each in constant time, so that an answer's delay says nothing about a key.
    const isShared = shared.map((known) => timingSafeEqual(known, digest)).some(Boolean);
    if (!isShared) throw new HttpError(401, "Unauthorized");
    return "shared-datasets";
  };
}

/** How much of a request may be in memory at once: its body, unpacked, as far as its header tells. */
function memoryFor(request: FastifyRequest): number {
  const isPacked = request.headers["content-encoding"] !== undefined;
  const length = contentLength(request) || MAX_BODY_BYTES;
  return Math.min(MAX_BODY_BYTES, isPacked ? length * USUAL_PACKING : length);
}

function contentLength(request: FastifyRequest): number {
  return Number(request.headers["content-length"] ?? 0);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
