import { MEMORY_LIMITS } from "@noisefloor/config/memory.ts";
import type { Sender } from "@noisefloor/domain/access/publishing.ts";
import type { OperationOptions } from "@noisefloor/http/operations/operation.ts";
import { memoryBudget } from "@noisefloor/http/requests/memory-budget.ts";
import { limitBodies } from "@noisefloor/http/requests/request-bodies.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { onClosed } from "@noisefloor/http/responses/pending-responses.ts";
import { KafkaClockError, KafkaUnavailableError } from "@noisefloor/kafka/port/errors.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { explainRejection } from "../../formats/explain-rejection.ts";
import type { DecodeOptions, LogFormat } from "../../formats/format.ts";
import type { IgnoredCounts } from "../../formats/ignored.ts";
import { ingestBatch } from "../../pipeline/pipeline.ts";
import type { RejectedRecord } from "../../record.ts";
import type { SourceOptions } from "../source-options.ts";
import { type InTurn, readClaimed } from "./claimed-records.ts";
import { requestDeadLetter } from "./dead-letters.ts";
import { MAX_BODY_BYTES } from "./operation.ts";
import { BUSY, type Part, type RequestRecord } from "./records.ts";
import { idempotencyKeyOf, identify, type RequestIdentity, type Requests } from "./requests.ts";
import { budgetShareOf, readSenders, type SensorKeys } from "./senders.ts";
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

export type RequestResult = {
  /** The records that were no ignored ones, in order. */
  readonly records: readonly RequestRecord[];
  readonly accepted: number;
  readonly rejected: readonly RejectedRecord<RequestRecord>[];
  readonly ignored: IgnoredCounts;
};

/** What the records of a request are. */
type Given = { readonly formats: readonly LogFormat[]; readonly sensorId?: string | undefined };

/** The HTTP intake: its protocols share its senders, its memory and its way into the store. */
export type HttpIntake = Pick<HttpIntakeOptions, "formats" | "assertSpace"> & {
  /** @throws HttpError 401 for an unknown key. */
  readonly senderOf: (request: FastifyRequest) => Promise<Sender>;
  /** Adds routes whose senders are known, and whose bodies are read within the intake's memory. */
  addRoutes(app: FastifyInstance, register: (scope: FastifyInstance) => void): void;
  /** Resolves once the records of a request are safe. */
  ingest(
    request: FastifyRequest,
    reply: FastifyReply,
    parts: readonly Part[],
    given: Given,
    signal: AbortSignal | undefined,
  ): Promise<RequestResult>;
};

/** How the routes of the intake are implemented. */
export const ROUTE_OPTIONS: OperationOptions = {
  bodyLimit: MAX_BODY_BYTES,
  deadlineMs: STORE_TIMEOUT_MS,
  config: { hasOwnBodyLimits: true },
};

export function openHttpIntake(options: HttpIntakeOptions): HttpIntake {
  const budget = memoryBudget(options.memoryBytes ?? MEMORY_LIMITS.intake);
  const senderOf = readSenders(options);
  const turns = takeTurns();
  return {
    formats: options.formats,
    assertSpace: options.assertSpace,
    senderOf,
    addRoutes(app, register) {
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
        // The hooks of a protocol come first: they may ask for the type of the body.
        register(scope);
        // Fastify would reject a misspelled type. The body is parsed whatever the header says.
        scope.addHook("onRequest", async (request) => void delete request.raw.headers["content-type"]);
      });
    },
    async ingest(request, reply, parts, { formats, sensorId }, signal) {
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
        const { claimed, records, ignored } = await readClaimed(parts, identity, { ...common, claim });
        const result = await ingestRecords(records, ignored, sender, signal, options).catch(toUnavailable);
        await claimed?.answer();
        return result;
      } finally {
        release?.();
      }
    },
  };
}

async function ingestRecords(
  records: readonly RequestRecord[],
  ignored: IgnoredCounts,
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
  return { records, accepted: ingested.accepted.length, rejected: ingested.rejected, ignored };
}

function toUnavailable(error: unknown): never {
  if (error instanceof KafkaClockError) throw new HttpError(503, `Nothing is stored: ${error.message}`);
  if (!(error instanceof KafkaUnavailableError)) throw error;
  throw new HttpError(503, "The brokers cannot be reached at the moment: send the request again later");
}
