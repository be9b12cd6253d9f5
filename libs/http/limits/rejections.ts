import type { Socket } from "node:net";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import { HttpError } from "../responses/errors.ts";
import { endWithError } from "../responses/raw-response.ts";

/** Why a request or a connection was rejected to save resources. */
export type RejectionReason =
  | "caller_queue_full"
  | "queue_full"
  | "queue_timeout"
  | "caller_memory"
  | "memory"
  | "answer_too_large"
  | "pipelining"
  | "stalled_reader"
  | "client_connections"
  | "connections";

export type OnRejected = (reason: RejectionReason) => void;

/** Counts in noisefloor_http_rejected_total. */
export function countRejections(metrics: Pick<Metrics, "httpRejected">): OnRejected {
  return (reason) => metrics.httpRejected.inc({ reason });
}

/** A client with more requests than these under way on one connection is disconnected. */
export const MAX_PIPELINED_REQUESTS = 32;

/**
 * A caller's own excess is a 429, a shared limit a 503. Never Retry-After: real clients would sleep for it.
 * Created once, as under overload they are thrown thousands of times a minute.
 */
export const REJECTION_ERRORS = {
  caller_queue_full: new HttpError(
    429,
    "Too many large queries at once: wait for the answers to some before you send more",
  ),
  queue_full: new HttpError(503, "The service is busy with large queries: send the request again in a few seconds"),
  caller_memory: new HttpError(429, "Too many large answers at once: read the open ones before you send more"),
  memory: new HttpError(503, "The service holds too many unread answers: send the request again in a few seconds"),
  pipelining: new HttpError(
    429,
    `More than ${MAX_PIPELINED_REQUESTS} requests wait on this connection: read answers before you send more`,
  ),
  client_connections: new HttpError(429, "Too many connections: close some before you open more"),
  connections: new HttpError(503, "The service has too many connections: try again in a few seconds"),
} as const;

export function queueTimeoutError(seconds: number): HttpError {
  return new HttpError(503, `The query waited ${seconds} seconds for its turn: send the request again later`);
}

export function responseTooLargeError(maxBytes: number): HttpError {
  return new HttpError(503, `The answer is larger than ${Math.floor(maxBytes / 1_048_576)} MiB: ask for less`);
}

const CLOSE_GRACE_MS = 1_000;

/** Rejects a connection, or what was sent on it: sends the error response without a request to reply to, and closes. */
export function respondAndClose(socket: Socket, reason: "client_connections" | "connections" | "pipelining"): void {
  const { status, body } = REJECTION_ERRORS[reason];
  endWithError(socket, status, body, CLOSE_GRACE_MS);
}
