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

export type RequestLogOptions = {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "httpRequests">;
  /** Whether callers' addresses may stand in logs. */
  readonly logsClientAddresses: boolean;
};

/** Logs, counts and times a request once its response is over; further calls for the same one do nothing. */
export type LogRequest = (request: FastifyRequest, reply: FastifyReply, status: number) => void;

/** Neither query strings nor header fields are logged: keys travel there. At debug, names of unknown parameters are. */
export function requestLogger({ log, metrics, logsClientAddresses }: RequestLogOptions): LogRequest {
  return (request, reply, status) => {
    if (request.isLogged) return;
    request.isLogged = true;
    const operation = request.routeOptions.config.operation ?? NO_OPERATION;
    metrics.httpRequests.record(operation, status, reply.elapsedTime / 1_000);
    const level = request.routeOptions.logLevel === LOGGED_AT_DEBUG.logLevel ? "debug" : "info";
    if (!log.isLevelEnabled(level)) return;
    log[level](
      {
        requestId: request.id,
        operation,
        method: request.method,
        path: pathOf(request.url),
        status,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        workspace: request.workspaceId,
        ...(logsClientAddresses ? { client: request.ip } : {}),
      },
      "answered",
    );
    const { unknownParameters } = request;
    if (unknownParameters !== undefined) {
      log.debug({ requestId: request.id, operation, unknownParameters }, "ignored unknown query parameters");
    }
  };
}

/** Logs every request that reaches a route, the one for unknown paths included. */
export function logRequests(app: FastifyInstance, logRequest: LogRequest): void {
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
}

/** Logs a request that Fastify answers before routing, where no hook runs. */
export function logUnrouted(request: FastifyRequest, reply: FastifyReply, logRequest: LogRequest): void {
  reply.header("x-request-id", request.id);
  onClosed(reply.raw, () => logRequest(request, reply, reply.statusCode));
}
