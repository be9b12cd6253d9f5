import type { RequestListener } from "node:http";
import { availableParallelism } from "node:os";
import { MEMORY_LIMITS } from "@noisefloor/config/memory.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { type Admission, createAdmission } from "./admission.ts";
import { type ConnectionLimit, connectionLimit } from "./connection-limit.ts";
import { limitPipelining } from "./pipelining.ts";
import { countRejections } from "./rejections.ts";
import { createResponseMemory, type ResponseMemory } from "./response-memory.ts";
import { sharesOf } from "./shares.ts";
import { cutStalledReaders, type ReadingPace } from "./stalled-readers.ts";

/** What a process gives to its callers at any moment, so that none of them can starve the others. */
export type LimitOptions = {
  /** The total cost of the large queries that run side by side. */
  readonly queryCapacity: number;
  /** Bytes of answers that their clients have not read yet. */
  readonly responseMemoryBytes: number;
  /** Open connections of one client. */
  readonly connectionsPerClient: number;
  readonly connections: number;
  /** How long a large query waits in the queue. */
  readonly maxWaitMs: number;
  /** How long the rejection of a large query is delayed. */
  readonly rejectionDelayMs: number;
  readonly readingPace: ReadingPace;
};

/** Queries beyond those that keep the processors busy end no sooner, and slow the intake down. */
export function defaultQueryCapacity(processors: number): number {
  return Math.min(16, Math.max(4, 2 * processors));
}

export const DEFAULT_LIMITS: LimitOptions = {
  queryCapacity: defaultQueryCapacity(availableParallelism()),
  responseMemoryBytes: MEMORY_LIMITS.answers,
  connectionsPerClient: 512,
  connections: 4_096,
  maxWaitMs: 10_000,
  rejectionDelayMs: 500,
  readingPace: { bytes: 256 * 1024, withinMs: 20_000 },
};

/** The capacity of the queue, as a multiple of the capacity to run. */
const QUEUE_FACTOR = 8;

declare module "fastify" {
  interface FastifyInstance {
    admission: Admission;
    responseMemory: ResponseMemory;
    connectionLimit: ConnectionLimit;
    /** What every server of the application calls with its requests. */
    handleRequest: RequestListener;
  }
}

/** Sets the limits that all operations share. Call it after the hooks that track and log responses. */
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
  const memory = createResponseMemory(sharesOf(limits.responseMemoryBytes), onRejected);
  const connections = connectionLimit(
    { perClient: limits.connectionsPerClient, total: limits.connections, trustedProxies },
    onRejected,
  );
  app.decorate("admission", admission);
  app.decorate("responseMemory", memory);
  app.decorate("connectionLimit", connections);
  connections.track(app.server);
  const watch = cutStalledReaders(app, limits.readingPace, onRejected);
  const handleRequest = limitPipelining((request, response) => {
    watch(request.socket);
    app.routing(request, response);
  }, onRejected);
  app.decorate("handleRequest", handleRequest);
  app.server.removeAllListeners("request").on("request", handleRequest).on("checkExpectation", handleRequest);
  app.addHook("onRequest", (request, _reply, done) => {
    // A rejected connection is about to close and can carry no response.
    if (!connections.isRejected(request.raw.socket)) done();
  });
  metrics.gauge("noisefloor_http_queries_in_flight", "Cost of the large queries that run", () => admission.inFlight());
  metrics.gauge("noisefloor_http_queries_queued", "Cost of the large queries that wait in the queue", () =>
    admission.queued(),
  );
  metrics.gauge("noisefloor_http_answer_memory_bytes", "Bytes of answers that their clients have not read yet", () =>
    memory.used(),
  );
}
