import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { CLIENT_WENT_AWAY, pathOf } from "./refusals.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Whose key the request carries, once it was checked. */
    workspaceId: string | undefined;
  }
}

/** What requests to paths that no operation has are counted as: unknown paths must not become labels. */
const NO_OPERATION = "none";

export type RequestLogOptions = {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "httpRequests" | "httpDuration">;
  /** Whether callers' addresses may stand in logs. */
  readonly logsClientAddresses: boolean;
};

/** Writes a line for each answer, counts and times it. Neither query strings nor header fields are logged: keys travel there. */
export function logRequests(app: FastifyInstance, { log, metrics, logsClientAddresses }: RequestLogOptions): void {
  app.decorateRequest("workspaceId", undefined);
  app.addHook("onSend", async (request, reply) => void reply.header("x-request-id", request.id));
  app.addHook("onResponse", async (request, reply) => {
    const operation = request.routeOptions.config.operation ?? NO_OPERATION;
    const status = statusOf(request, reply);
    metrics.httpRequests.inc({ operation, status });
    metrics.httpDuration.observe({ operation }, reply.elapsedTime / 1_000);
    log[request.routeOptions.logLevel === "debug" ? "debug" : "info"](
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
  });
}

function statusOf(request: FastifyRequest, reply: FastifyReply): number {
  return request.socket.destroyed && !reply.raw.writableFinished ? CLIENT_WENT_AWAY : reply.statusCode;
}
