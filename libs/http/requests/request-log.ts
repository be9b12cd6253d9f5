import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { AccessLog } from "@noisefloor/telemetry/logger.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { onClosed } from "../responses/pending-responses.ts";
import { CLIENT_DISCONNECTED } from "./deadline.ts";
import { pathOf } from "./request-target.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Whose key the request carries, once it was checked. */
    workspaceId: string | undefined;
    /** Whether it was logged and counted. */
    isLogged: boolean;
  }
}

/** The label of requests to unknown paths: the paths themselves must not become labels. */
const NO_OPERATION = "none";

/** Options of a route that is asked for every few seconds, or many times by a page: at info its lines hide all others. */
export const LOGGED_AT_DEBUG = { logLevel: "debug" } as const;

export type LookupSampling = {
  /** How often a lookup of each operation is logged, and how many there were besides. */
  readonly everyMs: number;
  /** Lookups that take longer are always logged. */
  readonly slowMs: number;
};

const LOOKUP_SAMPLING: LookupSampling = { everyMs: 10_000, slowMs: 1_000 };

export type RequestLogOptions = {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "httpRequests">;
  /** Whether callers' addresses may stand in logs. */
  readonly logsClientAddresses?: boolean;
  readonly accessLog?: AccessLog;
  readonly lookupSampling?: LookupSampling;
};

/** Logs, counts and times a request once its response is over; further calls for the same one do nothing. */
export type LogRequest = (request: FastifyRequest, reply: FastifyReply, status: number) => void;

export type RequestLogger = {
  readonly logRequest: LogRequest;
  /** Logs how many lookups had no line yet; those that end later have one each. */
  stop(): Promise<void>;
};

/** Neither query strings nor header fields are logged: keys travel there. At debug, names of unknown parameters are. */
export function requestLogger(options: RequestLogOptions): RequestLogger {
  const { log, metrics, logsClientAddresses = false, accessLog = "all", lookupSampling = LOOKUP_SAMPLING } = options;
  const sampler = accessLog === "all" ? undefined : sampleLookups(log, lookupSampling.everyMs);
  const logRequest: LogRequest = (request, reply, status) => {
    if (request.isLogged) return;
    request.isLogged = true;
    const { config } = request.routeOptions;
    const operation = config.operation ?? NO_OPERATION;
    const ms = reply.elapsedTime;
    metrics.httpRequests.record(operation, status, ms / 1_000);
    const level = request.routeOptions.logLevel === LOGGED_AT_DEBUG.logLevel ? "debug" : "info";
    if (!log.isLevelEnabled(level)) return;
    // A lookup's 404 is its answer for an address that was never seen.
    const isAnswer = status < 400 || status === 404;
    const maySample = config.isLookup === true && isAnswer && ms <= lookupSampling.slowMs;
    if (!maySample || sampler === undefined || sampler.isSample(operation)) {
      log[level](
        {
          requestId: request.id,
          operation,
          method: request.method,
          path: pathOf(request.url),
          status,
          ms: Math.round(ms * 10) / 10,
          workspace: request.workspaceId,
          ...(logsClientAddresses ? { client: request.ip } : {}),
        },
        "answered",
      );
    }
    const { unknownParameters } = request;
    if (unknownParameters !== undefined) {
      log.debug({ requestId: request.id, operation, unknownParameters }, "ignored unknown query parameters");
    }
  };
  return { logRequest, stop: async () => sampler?.stop() };
}

/** Samples the first lookup of each operation in each interval. At its end, a line says how many more there were. */
function sampleLookups(log: Logger, everyMs: number) {
  const unlogged = new Map<string, number>();
  let isStopped = false;
  const logCounts = async () => {
    for (const [operation, lookups] of unlogged) {
      if (lookups > 0) log.info({ operation, lookups }, "further lookups answered");
    }
    unlogged.clear();
  };
  const counting = repeatEvery(logCounts, { everyMs, onError: () => {} });
  return {
    /** @returns false when it only counts the lookup. */
    isSample(operation: string): boolean {
      if (isStopped) return true;
      const lookups = unlogged.get(operation);
      unlogged.set(operation, lookups === undefined ? 0 : lookups + 1);
      return lookups === undefined;
    },
    async stop(): Promise<void> {
      isStopped = true;
      await counting.stop();
      await logCounts();
    },
  };
}

/** Logs every request that reaches a route, the one for unknown paths included. */
export function logRequests(app: FastifyInstance, { logRequest, stop }: RequestLogger): void {
  app.decorateRequest("workspaceId", undefined);
  app.decorateRequest("unknownParameters", undefined);
  app.decorateRequest("isLogged", false);
  app.addHook("onSend", (request, reply, _payload, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  app.addHook("onRequest", (request, reply, done) => {
    // Fastify has no hook for a client that disconnects before the response: only the connection shows it.
    onClosed(reply.raw, () => {
      if (!reply.raw.writableFinished) setImmediate(() => logRequest(request, reply, CLIENT_DISCONNECTED));
    });
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    logRequest(request, reply, reply.statusCode);
    done();
  });
  app.addHook("onClose", stop);
}

/** Logs a request that Fastify answers before routing, where no hook runs. */
export function logUnrouted(request: FastifyRequest, reply: FastifyReply, logRequest: LogRequest): void {
  reply.header("x-request-id", request.id);
  onClosed(reply.raw, () => logRequest(request, reply, reply.statusCode));
}
