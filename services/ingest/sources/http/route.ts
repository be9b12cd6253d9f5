import { randomUUID } from "node:crypto";
import { idNamespaceOf, type Sender } from "@noisefloor/domain/access/publishing.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import { registerOperation } from "@noisefloor/http/operation.ts";
import { memoryBudget, type Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { limitBodies } from "@noisefloor/http/requests/request-bodies.ts";
import { KafkaUnavailableError } from "@noisefloor/kafka/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type DeadLetter, type DeadLetterStore, toPayload } from "../../dead-letters/dead-letter.ts";
import { splitPayload } from "../../formats/json/split.ts";
import { type BatchOptions, type BatchResult, countReasons, ingestBatch } from "../../pipeline.ts";
import { requestRecordId } from "../../record-id.ts";
import type { IncomingRecord, RejectedRecord } from "../../types.ts";
import { LISTED_REJECTIONS, MAX_BODY_BYTES, MAX_RECORDS, postObservations } from "./operation.ts";
import { budgetShareOf, readSenders, type SensorKeys } from "./senders.ts";

/**
 * How long storing may take. Longer than a query: after a timeout a client sends the whole request again, and
 * observations without ids of their own count twice.
 */
const STORE_TIMEOUT_MS = 120_000;

/**
 * What all requests may take in memory until they are stored: their bodies, unpacked, and RECORD_BYTES for each of
 * their records. While the store is behind, requests keep their reservations, and further ones get a 503. The largest
 * request fits into half of it, the most that one sender may take.
 */
const MEMORY_BYTES = 128 * 1024 * 1024;
/** Measured: 330 to 410 for one that is rejected, if only of two bytes, and 580 to 900 for one that is stored. */
const RECORD_BYTES = 500;

const BUSY = "The intake is busy: send the request again in a few seconds";

/** A record of a request. */
export type RequestRecord = IncomingRecord & {
  /** The request that it came in. */
  readonly origin: string;
  /** Its place there, from 1. */
  readonly position: number;
  readonly sender: Sender;
};

export type HttpIntakeOptions = SensorKeys &
  Omit<BatchOptions<RequestRecord>, "right" | "sensorId" | "signal" | "deadLettersFirst" | "storeDeadLetters"> & {
    readonly deadLetters: DeadLetterStore;
    /** Throws while nothing can be stored: no body is read then. */
    readonly assertSpace?: (() => void) | undefined;
  };

/**
 * `POST /v1/observations`: NDJSON or a JSON array, plain or gzip. 202 with what was accepted and rejected, only after
 * the accepted ones are safe.
 */
export function registerIntake(app: FastifyInstance, options: HttpIntakeOptions): void {
  const budget = memoryBudget(MEMORY_BYTES);
  const senderOf = readSenders(options);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    // Before the body is read: a sender who may not publish must not cost memory either.
    scope.addHook("onRequest", async (request) => {
      senderOf(request);
      try {
        options.assertSpace?.();
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
    limitBodies(scope, { budget, senderOf: budgetShareOf, busyMessage: BUSY, acceptsGzip: true });
    // Fastify would reject a misspelled type. The body is parsed whatever the header says.
    scope.addHook("onRequest", async (request) => void delete request.raw.headers["content-type"]);
    registerOperation(
      scope,
      postObservations,
      async (request, _reply, { signal }) => {
        // The answer may be over before the work is: after the deadline, or when the client has gone away.
        const release = request.reservation?.hold();
        const result = await ingestRequest(request, senderOf(request), signal, options)
          .catch(toUnavailable)
          .finally(release);
        return formatResult(result);
      },
      { bodyLimit: MAX_BODY_BYTES, deadlineMs: STORE_TIMEOUT_MS, config: { hasOwnBodyLimits: true } },
    );
  });
}

async function ingestRequest(
  request: FastifyRequest,
  sender: Sender,
  signal: AbortSignal | undefined,
  options: HttpIntakeOptions,
): Promise<BatchResult<RequestRecord>> {
  const { right, sensorId } = sender;
  return ingestBatch(readRecords(request.body, sender, request.reservation), {
    ...options,
    right,
    sensorId,
    deadLettersFirst: true,
    // The signal ends only this wait: the dead letters of a stored request are stored even if the client has gone.
    sink: (validated) => options.sink(validated, { signal }),
    storeDeadLetters: (rejected) => options.deadLetters(rejected.map(requestDeadLetter)),
  });
}

function readRecords(body: unknown, sender: Sender, reservation: Reservation | undefined): RequestRecord[] {
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
  return parts.map((bytes, index) => ({
    bytes,
    origin,
    position: index + 1,
    fallbackId: requestRecordId(origin, index),
    idNamespace,
    sender,
  }));
}

export function requestDeadLetter({ record, rejection }: RejectedRecord<RequestRecord>): DeadLetter {
  const { origin, position, sender, bytes } = record;
  return { source: "http", origin, position, rejection, sender, ...toPayload(bytes) };
}

function toUnavailable(error: unknown): never {
  if (!(error instanceof KafkaUnavailableError)) throw error;
  throw new HttpError(503, "The brokers cannot be reached at the moment: send the request again later");
}

function formatResult({ accepted, rejected }: BatchResult<RequestRecord>) {
  return {
    accepted,
    rejected: rejected.length,
    reasons: Object.fromEntries(countReasons(rejected)),
    rejections: rejected.slice(0, LISTED_REJECTIONS).map(({ record, rejection }) => ({
      position: record.position,
      ...rejection,
    })),
  };
}
