import type { ServerResponse } from "node:http";
import { HttpError } from "./errors.ts";

/** The status, known from other servers, of a request whose client did not wait for the answer. Nobody gets to see it. */
export const CLIENT_WENT_AWAY = 499;

/** The answer took longer than it may. Unlike other refusals it tells of us: whoever runs the service shall hear of it. */
export class DeadlineError extends HttpError {
  override name = "DeadlineError";

  constructor() {
    super(503, "The answer took longer than the time limit: ask for less, or again later");
  }
}

/** How long an answer is worth working on: until the time is up, the client has gone or the work has failed. */
export type Deadline = {
  /** Aborts then, with the error that the caller is told as its reason. */
  readonly signal: AbortSignal;
  /** Rejects then, with the same. */
  readonly passed: Promise<never>;
  /** To be called when the work has failed: whatever goes on for it is not worth it any more either. */
  giveUp(error: unknown): void;
  /** To be called when the work is done. */
  end(): void;
};

/** Starts the clock for one answer. */
export function startDeadline(response: ServerResponse, ms: number): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const tooLate = () => controller.abort(new DeadlineError());
  // The request's own end would not do: it comes as soon as a body is read, while its client still waits.
  const gone = () => controller.abort(new HttpError(CLIENT_WENT_AWAY, "The client has gone"));
  const timer = setTimeout(tooLate, ms);
  response.once("close", gone);
  const passed = new Promise<never>((_, fail) => {
    signal.addEventListener("abort", () => fail(signal.reason), { once: true });
  });
  if (response.destroyed) gone();
  // Nobody listens any more when the work itself has failed.
  passed.catch(() => {});
  return {
    signal,
    passed,
    giveUp: (error) => controller.abort(error),
    end() {
      clearTimeout(timer);
      response.off("close", gone);
    },
  };
}
