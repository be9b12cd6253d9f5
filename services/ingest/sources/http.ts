import { createHash, randomUUID, scryptSync, timingSafeEqual } from "node:crypto";
import type { SensorKeyCache } from "@noisefloor/clickhouse/caches/sensor-key-cache.ts";
import { clientNetwork } from "@noisefloor/domain/client-address.ts";
import { idNamespaceOf, type Sender } from "@noisefloor/domain/publishing.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import { registerOperation } from "@noisefloor/http/operation.ts";
import { memoryBudget, type Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { limitBodies } from "@noisefloor/http/requests/request-bodies.ts";
import { KafkaUnavailableError } from "@noisefloor/kafka/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { PlacedRecord } from "../dead-letter.ts";
import { splitPayload } from "../decode.ts";
import { type BatchDeps, countReasons, ingestBatch, type Outcome } from "../pipeline.ts";
import { requestRecordId } from "../record-id.ts";
import { LISTED_REJECTIONS, MAX_BODY_BYTES, MAX_RECORDS, postObservations } from "./intake-operation.ts";

/**
 * How long storing may take. Longer than for a question: whoever is told that it took too long sends all of it again,
 * and without ids of its own that counts twice.
 */
const STORE_TIMEOUT_MS = 120_000;

/**
 * What all requests may take in memory until they are stored: their bodies, unpacked, and so many bytes for each of their
 * records. What is made of a body takes up to a few times as much. While the store is behind they stay, and others are told
 * to wait. The largest request there is fits into half of it, the most that one sender may take.
 */
const MEMORY_BYTES = 128 * 1024 * 1024;
/** Measured: 330 to 410 for one that is rejected, if only of two bytes, and 580 to 900 for one that is stored. */
const RECORD_BYTES = 500;

const BUSY = "The intake is busy: send the request again in a few seconds";

export type HttpIntakeDeps = Omit<BatchDeps<PlacedRecord>, "right" | "sensorId" | "signal" | "keepsRejectedFirst"> & {
  /** Keys of the settings: whoever has one may publish to the shared datasets. */
  readonly sensorKeys: readonly string[];
  /** Keys of the store: each may publish to its one room. */
  readonly sensors: SensorKeyCache;
  /** Throws while nothing can be stored: no body is read then. */
  readonly requireSpace?: (() => void) | undefined;
};

/**
 * `POST /v1/observations`: NDJSON or a JSON array, plain or gzip. 202 with what was accepted and rejected, only after
 * the accepted ones are safe.
 */
export function registerIntake(app: FastifyInstance, deps: HttpIntakeDeps): void {
  const budget = memoryBudget(MEMORY_BYTES);
  const senderOf = readSenders(deps);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    // Before the body is read: whoever may not publish shall not cost memory either.
    scope.addHook("onRequest", async (request) => {
      senderOf(request);
      try {
        deps.requireSpace?.();
      } catch (error) {
        // An answer and no error to log: on a full disk a log line for each request would fill it further.
        throw scope.toHttpError(error) ?? error;
      }
    });
    scope.addHook("onRequest", async (request) => {
      const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
      if (encoding !== "identity" && encoding !== "gzip") {
        throw new HttpError(415, "Content-Encoding must be gzip or left out");
      }
    });
    limitBodies(scope, { budget, senderOf: shareOf, busyMessage: BUSY, acceptsGzip: true });
    // Whatever it says, the body is looked at: with it, the framework would refuse a type that is not spelled as one.
    scope.addHook("onRequest", async (request) => void delete request.raw.headers["content-type"]);
    registerOperation(
      scope,
      postObservations,
      async (request, _reply, signal) => {
        // The answer may be over before the work is: the deadline has passed, or nobody waits for it any more.
        const { reservation } = request;
        const letGo = reservation?.hold();
        const sender = senderOf(request);
        const { right, sensorId } = sender;
        const terms = { ...deps, right, sensorId, keepsRejectedFirst: true };
        // Only to the store: the dead letters of what has been stored are kept whoever waits.
        const accept: typeof deps.accept = (judged) => deps.accept(judged, { signal });
        const { accepted, rejected } = await take(request, reservation, sender, { ...terms, accept })
          .catch(tellOfBrokers)
          .finally(letGo);
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
      { bodyLimit: MAX_BODY_BYTES, deadlineMs: STORE_TIMEOUT_MS, config: { hasOwnBodyLimits: true } },
    );
  });
}

async function take(
  request: FastifyRequest,
  reservation: Reservation | undefined,
  sender: Sender,
  deps: BatchDeps<PlacedRecord>,
): Promise<Outcome<PlacedRecord>> {
  const body = request.body;
  if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "The request body is empty");
  const parts = splitPayload(body, MAX_RECORDS);
  if ("reason" in parts && parts.reason === "too-many-observations") {
    throw new HttpError(413, `The request body has more than ${MAX_RECORDS} observations`);
  }
  if (!Array.isArray(parts))
    throw new HttpError(400, "The request body must be NDJSON or a JSON array of observations");
  // Before anything else is made of them: a hundred bytes of gzip may hold as many records as a request may have.
  if (!reservation?.grow(parts.length * RECORD_BYTES)) throw new HttpError(503, BUSY);
  const origin = randomUUID();
  const idNamespace = idNamespaceOf(sender);
  const records = parts.map(
    (bytes, index): PlacedRecord => ({
      bytes,
      origin,
      position: index + 1,
      fallbackId: requestRecordId(origin, index),
      idNamespace,
      sender,
    }),
  );
  return ingestBatch(records, deps);
}

/**
 * Who sends a request, by its key. A key is asked for as soon as there is any. One that is not known is refused
 * also while none is asked for: its sensor counts on a room that its key stands for, and would fill another one.
 * @throws HttpError 401.
 */
function readSenders({ sensorKeys, sensors }: HttpIntakeDeps): (request: FastifyRequest) => Sender {
  const shared = sensorKeys.map((key) => ({ digest: sha256(key), sender: senderOfSettings(key) }));
  return (request) => {
    const key = typeof request.headers.key === "string" ? request.headers.key : "";
    if (key === "" && isIntakeOpen({ sensorKeys, sensors })) return { right: "shared-datasets" };
    const sender = sensors.senderOf(key);
    if (sender !== undefined) return sender;
    const digest = sha256(key);
    // Compared as digests of one length, each in constant time, so that an answer's delay says nothing about a key.
    const [known] = shared.filter((one) => timingSafeEqual(one.digest, digest));
    if (known === undefined) throw new HttpError(401, "Unauthorized");
    return known.sender;
  };
}

/** Whether observations are taken without a key. */
export function isIntakeOpen({ sensorKeys, sensors }: Pick<HttpIntakeDeps, "sensorKeys" | "sensors">): boolean {
  return sensorKeys.length === 0 && !sensors.hasKeys();
}

/**
 * A key of the settings has no id, so it gets one made of itself, the same in every process. Dashboards may read it, so it
 * is slow to compute on purpose: a key that a person chose must not be guessed from it.
 */
function senderOfSettings(key: string): Sender {
  return { right: "shared-datasets", keyId: `settings-${scryptSync(key, "noisefloor sensor key", 8).toString("hex")}` };
}

function tellOfBrokers(error: unknown): never {
  if (!(error instanceof KafkaUnavailableError)) throw error;
  throw new HttpError(503, "The brokers cannot be reached at the moment: send the request again later", {
    cause: error,
  });
}

/** Whose share of the budget a request takes: its key's, which was checked before, or its address's while none is asked for. */
function shareOf(request: FastifyRequest): string {
  const { key } = request.headers;
  if (typeof key === "string" && key !== "") return `key ${key}`;
  return clientNetwork(request.ip, request.socket.remoteAddress);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
