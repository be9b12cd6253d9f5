import { MEMORY_LIMITS } from "@noisefloor/config/memory.ts";
import type { Sender } from "@noisefloor/domain/access/publishing.ts";
import { memoryBudget } from "@noisefloor/http/requests/memory-budget.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { limitBodies } from "@noisefloor/http/requests/request-bodies.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { onClosed } from "@noisefloor/http/responses/pending-responses.ts";
import { KafkaClockError, KafkaUnavailableError } from "@noisefloor/kafka/port/errors.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { findFormats } from "../../formats/all.ts";
import { explainRejection } from "../../formats/explain-rejection.ts";
import type { DecodeOptions, LogFormat } from "../../formats/format.ts";
import { type IgnoredCounts, sumOf } from "../../formats/ignored.ts";
import { tpot } from "../../formats/sensors/tpot.ts";
import { countReasons, ingestBatch } from "../../pipeline/pipeline.ts";
import type { RejectedRecord } from "../../record.ts";
import type { SourceOptions } from "../source-options.ts";
import { type InTurn, readClaimed } from "./claimed-records.ts";
import { requestDeadLetter } from "./dead-letters.ts";
import {
  FORMAT,
  LISTED_REJECTIONS,
  MAX_BODY_BYTES,
  NONE_ACCEPTED,
  postObservationLines,
  postObservations,
  postSplunkEvents,
  postSplunkEventsUnversioned,
  postSplunkEventsVersioned,
  postTpotBatch,
  SENSOR,
} from "./operation.ts";
import { BUSY, type Part, type RequestRecord, type RequestRecords, splitBody } from "./records.ts";
import { idempotencyKeyOf, identify, type RequestIdentity, type Requests } from "./requests.ts";
import { budgetShareOf, readSenders, type SensorKeys } from "./senders.ts";
import { readSplunkEvents } from "./splunk-events.ts";
import { registerSplunkHealth } from "./splunk-health.ts";
import { takeTurns } from "./take-turns.ts";

/**
 * How long storing may take. Longer than a query: after a timeout a client sends the whole request again.
 */
const STORE_TIMEOUT_MS = 120_000;

export type HttpIntakeOptions = SensorKeys &
  Omit<SourceOptions, "log"> & {
    /** Every format that a request may name. */
    readonly formats: readonly LogFormat[];
    readonly decode: DecodeOptions;
    readonly requests: Requests;
    /** Throws while nothing can be stored: no body is read then. */
    readonly assertSpace?: (() => void) | undefined;
    /** What all requests in memory may take together; {@link MEMORY_LIMITS} unless given. */
    readonly memoryBytes?: number | undefined;
  };

type RequestResult = {
  readonly accepted: number;
  readonly rejected: readonly RejectedRecord<RequestRecord>[];
  readonly ignored: IgnoredCounts;
};

/**
 * `POST /v1/observations`, and what T-Pot and Splunk clients send: plain or gzip. Each answers only after the accepted
 * records are safe.
 */
export function registerIntake(app: FastifyInstance, options: HttpIntakeOptions): void {
  const budget = memoryBudget(options.memoryBytes ?? MEMORY_LIMITS.intake);
  const senderOf = readSenders(options);
  registerSplunkHealth(app, { senderOf, assertSpace: options.assertSpace });
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    // Before the body is read: a sender who may not publish must not cost memory either.
    scope.addHook("onRequest", async (request) => {
      await senderOf(request);
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
    registerRoutes(scope, senderOf, options);
  });
}

/** What the records of a request are. */
type Given = { readonly formats: readonly LogFormat[]; readonly sensorId?: string | undefined };

function registerRoutes(
  scope: FastifyInstance,
  senderOf: (request: FastifyRequest) => Promise<Sender>,
  options: HttpIntakeOptions,
): void {
  const turns = takeTurns();
  const routeOptions = { bodyLimit: MAX_BODY_BYTES, deadlineMs: STORE_TIMEOUT_MS, config: { hasOwnBodyLimits: true } };
  const ingest = async (
    request: FastifyRequest,
    reply: FastifyReply,
    parts: readonly Part[],
    { formats, sensorId }: Given,
    signal: AbortSignal | undefined,
  ): Promise<RequestResult> => {
    // The answer may be over before the work is: after the deadline, or when the client has gone away.
    const release = request.reservation?.hold();
    try {
      const sender = await senderOf(request);
      const claim = async (identity: RequestIdentity) => {
        const claimed = await options.requests.claim(identity);
        let isSent = false;
        const end = () => claimed.end(isSent && reply.raw.statusCode < 500);
        reply.raw.once("finish", () => {
          isSent = true;
        });
        if (reply.raw.destroyed) end();
        else onClosed(reply.raw, end);
        return claimed;
      };
      const identity = await identify(sender, request.body, idempotencyKeyOf(request));
      const decode = { ...options.decode, now: options.now, sensorId };
      const inTurn: InTurn = (read) => turns(budgetShareOf(request), signal, read);
      const common = { sender, reservation: request.reservation, formats, decode, signal, inTurn };
      const { claimed, ...records } = await readClaimed(parts, identity, { ...common, claim });
      const result = await ingestRequest(records, sender, signal, options).catch(toUnavailable);
      await claimed?.answer();
      return result;
    } finally {
      release?.();
    }
  };
  const formatsOf = (query: RawQuery) => {
    // The description does not know the names of field maps.
    const named = typeof query.format === "string" ? findFormats(query.format, options.formats) : undefined;
    return named ?? findFormats(readParameter(query, FORMAT), options.formats) ?? options.formats;
  };
  for (const operation of [postObservations, postObservationLines]) {
    scope.implement(
      operation,
      async (request, reply, { signal }) => {
        const formats = formatsOf(request.query);
        const sensorId = readParameter(request.query, SENSOR);
        return answer(await ingest(request, reply, await splitBody(request.body), { formats, sensorId }, signal));
      },
      routeOptions,
    );
  }
  scope.implement(
    postTpotBatch,
    async (request, reply, { signal }) =>
      answer(await ingest(request, reply, await splitBody(request.body), { formats: [tpot] }, signal)),
    routeOptions,
  );
  for (const operation of [postSplunkEvents, postSplunkEventsUnversioned, postSplunkEventsVersioned]) {
    scope.implement(
      operation,
      async (request, reply, { signal }) => {
        const { events, sourcetype } = await readSplunkEvents(request.body, request.reservation);
        const formats = (sourcetype && findFormats(sourcetype, options.formats)) || options.formats;
        const { accepted, rejected, ignored } = await ingest(request, reply, events, { formats }, signal);
        const [problem] = rejected;
        const counts = { accepted, rejected: rejected.length, ignored: sumOf(ignored) };
        if (problem !== undefined && accepted === 0) {
          throw new HttpError(422, `${problem.rejection.reason}: ${problem.rejection.detail}`, counts);
        }
        return { text: "Success", code: 0, ...counts };
      },
      routeOptions,
    );
  }
}

async function ingestRequest(
  { records, ignored }: RequestRecords,
  sender: Sender,
  signal: AbortSignal | undefined,
  options: HttpIntakeOptions,
): Promise<RequestResult> {
  const { right, sensorId } = sender;
  const ingested = await ingestBatch(records, {
    ...options,
    right,
    sensorId,
    signal,
    explain: explainRejection,
    storeDeadLetters: (rejected) => options.deadLetters(rejected.map(requestDeadLetter)),
  }).stored;
  options.counts.add(ingested, sender);
  options.counts.addIgnored(ignored, sender);
  return { accepted: ingested.accepted.length, rejected: ingested.rejected, ignored };
}

function toUnavailable(error: unknown): never {
  if (error instanceof KafkaClockError) throw new HttpError(503, `Nothing is stored: ${error.message}`);
  if (!(error instanceof KafkaUnavailableError)) throw error;
  throw new HttpError(503, "The brokers cannot be reached at the moment: send the request again later");
}

/** @throws HttpError 422 when nothing was accepted; the records are kept as dead letters all the same. */
function answer({ accepted, rejected, ignored }: RequestResult) {
  const counts = {
    accepted,
    rejected: rejected.length,
    ignored: sumOf(ignored),
    reasons: Object.fromEntries(countReasons(rejected)),
    ignored_reasons: Object.fromEntries(ignored),
    rejections: rejected.slice(0, LISTED_REJECTIONS).map(({ record, rejection }) => ({
      position: record.position,
      ...rejection,
    })),
  };
  if (accepted === 0 && rejected.length > 0) throw new HttpError(422, NONE_ACCEPTED, counts);
  return counts;
}
