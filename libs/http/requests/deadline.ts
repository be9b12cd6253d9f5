import type { ServerResponse } from "node:http";
import { HttpError } from "../errors.ts";

/** nginx's status for a request whose client disconnected before the response; only logs and metrics show it. */
export const CLIENT_DISCONNECTED = 499;

/** The operation took longer than its time limit. Unlike other error responses it is our fault, so it is logged. */
export class DeadlineError extends HttpError {
  override name = "DeadlineError";

  constructor() {
    super(503, "The answer took longer than the time limit: ask for less, or again later");
  }
}

/** How long an operation may run: until its time limit, the client disconnects or the operation fails. */
export type Deadline = {
  /** Aborts then; its reason is the error response. */
  readonly signal: AbortSignal;
  /** Rejects then, with the same error. */
  readonly passed: Promise<never>;
  /** Call it when the operation has failed: ends what still runs for it. */
  abort(error: unknown): void;
  /** Call it when the operation is done. */
  end(): void;
};

/** Starts the clock for one operation. */
export function startDeadline(response: ServerResponse, ms: number): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const onTimeout = () => controller.abort(new DeadlineError());
  // Not the request's `close`: that comes as soon as the body is read, while the client still waits.
  const onDisconnect = () => controller.abort(new HttpError(CLIENT_DISCONNECTED, "The client has disconnected"));
  const timer = setTimeout(onTimeout, ms);
  response.once("close", onDisconnect);
  const passed = new Promise<never>((_, fail) => {
    signal.addEventListener("abort", () => fail(signal.reason), { once: true });
  });
  if (response.destroyed) onDisconnect();
  // Nothing awaits it any more when the operation itself has failed.
  passed.catch(() => {});
  return {
    signal,
    passed,
    abort: (error) => controller.abort(error),
    end() {
      clearTimeout(timer);
      response.off("close", onDisconnect);
    },
  };
}
