import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { type Admission, createAdmission } from "./admission.ts";
import { type AnswerMemory, createAnswerMemory } from "./answer-memory.ts";
import { type ConnectionLimit, connectionLimit } from "./connection-limit.ts";
import { inTurnPerConnection } from "./pipelining.ts";
import { countRejections } from "./rejections.ts";
import { sharesOf } from "./shares.ts";
import { cutStalledReaders, type ReadingPace } from "./stalled-readers.ts";

/** What a process gives to its callers at once, so that none of them leaves nothing for the others. */
export type LimitOptions = {
  /** The cost of large questions that are worked on at once. */
  readonly queryCapacity: number;
  /** Bytes of answers that are made but not read yet. */
  readonly answerMemoryBytes: number;
  /** Open connections of one client. */
  readonly connectionsPerClient: number;
  readonly connections: number;
  /** How long a large question waits for its turn. */
  readonly maxWaitMs: number;
  /** How late the rejection of a large question is told. */
  readonly rejectionDelayMs: number;
  readonly readingPace: ReadingPace;
};

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: LimitOptions = {
  queryCapacity: 16,
  answerMemoryBytes: 256 * MIB,
  connectionsPerClient: 512,
  connections: 4_096,
  maxWaitMs: 10_000,
  rejectionDelayMs: 500,
  readingPace: { bytes: 256 * 1024, withinMs: 20_000 },
};

/** So many times the capacity may wait, as the cost of the questions that do. */
const QUEUE_FACTOR = 8;

declare module "fastify" {
  interface FastifyInstance {
    admission: Admission;
    answerMemory: AnswerMemory;
    connectionLimit: ConnectionLimit;
  }
}

/** Sets the limits that all operations share. To be called after the hooks that track and log answers. */
export function registerLimits(
  app: FastifyInstance,
  metrics: Pick<Metrics, "httpRejected" | "gauge">,
  trustedProxies: readonly string[],
  options: Partial<LimitOptions> = {},
): void {
  const limits = { ...DEFAULT_LIMITS, ...options };
  const onRejected = countRejections(metrics);
  const admission = createAdmission({
    capacity: sharesOf(limits.queryCapacity),
    queue: sharesOf(limits.queryCapacity * QUEUE_FACTOR),
    maxWaitMs: limits.maxWaitMs,
    rejectionDelayMs: limits.rejectionDelayMs,
    onRejected,
  });
  const memory = createAnswerMemory(sharesOf(limits.answerMemoryBytes), onRejected);
  const connections = connectionLimit(
    { perClient: limits.connectionsPerClient, all: limits.connections, trustedProxies },
    onRejected,
  );
  app.decorate("admission", admission);
  app.decorate("answerMemory", memory);
  app.decorate("connectionLimit", connections);
  connections.watch(app.server);
  app.addHook("onRequest", (request, _reply, done) => {
    // The connection is about to end: nobody would get the answer.
    if (!connections.isRefused(request.raw.socket)) done();
  });
  app.addHook("onRequest", inTurnPerConnection(onRejected));
  cutStalledReaders(app, limits.readingPace, onRejected);
  metrics.gauge("noisefloor_http_queries_in_flight", "Cost of the large questions that are worked on", () =>
    admission.inFlight(),
  );
  metrics.gauge("noisefloor_http_queries_queued", "Cost of the large questions that wait for their turn", () =>
    admission.queued(),
  );
  metrics.gauge("noisefloor_http_answer_memory_bytes", "Bytes of answers that are made and not read yet", () =>
    memory.used(),
  );
}
