import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { CLIENT_WENT_AWAY } from "./deadline.ts";
import { pathOf } from "./refusals.ts";

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

/** Writes a line for an answer, counts and times it; does so once. */
export type TellRequest = (request: FastifyRequest, reply: FastifyReply, status: number) => void;

/** Neither query strings nor header fields are logged: keys travel there. */
export function requestTeller({ log, metrics, logsClientAddresses }: RequestLogOptions): TellRequest {
  const told = new WeakSet<FastifyRequest>();
  return (request, reply, status) => {
    if (told.has(request)) return;
    told.add(request);
    const operation = request.routeOptions.config.operation ?? NO_OPERATION;
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
  };
}

/** Has every answer told that a route gives, be it the one for unknown paths. */
export function logRequests(app: FastifyInstance, tell: TellRequest): void {
  app.decorateRequest("workspaceId", undefined);
  app.addHook("onSend", async (request, reply) => void reply.header("x-request-id", request.id));
  app.addHook("onRequest", async (request, reply) => {
    // The framework has no word for a client that has gone before the answer was: only its connection tells.
    reply.raw.once("close", () => setImmediate(() => tell(request, reply, CLIENT_WENT_AWAY)));
  });
  app.addHook("onResponse", async (request, reply) => tell(request, reply, reply.statusCode));
}

/** Has an answer told that is given before there is a route, where hooks do not run. */
export function tellAnswer(request: FastifyRequest, reply: FastifyReply, tell: TellRequest): void {
  reply.header("x-request-id", request.id);
  reply.raw.once("close", () => tell(request, reply, reply.statusCode));
}
