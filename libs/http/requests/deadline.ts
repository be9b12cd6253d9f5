import type { ServerResponse } from "node:http";
import { HttpError } from "../responses/errors.ts";
import { onClosed } from "../responses/pending-responses.ts";

/** nginx's status for a request whose client disconnected before the response; only logs and metrics show it. */
export const CLIENT_DISCONNECTED = 499;

/** The operation took longer than its time limit. Unlike other error responses it is our fault, so it is logged. */
export class DeadlineError extends HttpError {
  override name = "DeadlineError";

  constructor() {
    super(503, "The answer took longer than the time limit: ask for less, or again later");
  }
}

/**
 * How long an operation may run: until its time limit, the client disconnects or the operation fails. A class, because
 * V8 makes a hidden class for each object literal with getters, which garbage collection hardly keeps up with.
 */
export class Deadline {
  #listeners: (() => void)[] | undefined;
  #controller: AbortController | undefined;
  #passed: { readonly error: unknown } | undefined;

  /** Aborts then; its reason is the error response. Made when it is first read: a lookup from memory needs none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#passed !== undefined) this.#controller.abort(this.#passed.error);
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#passed !== undefined;
  }

  /** @throws the error response when it is aborted. */
  throwIfAborted(): void {
    if (this.#passed !== undefined) throw this.#passed.error;
  }

  /** Calls back then. @returns a function that cancels it. */
  onAbort(listener: () => void): () => void {
    this.#listeners ??= [];
    this.#listeners.push(listener);
    return () => {
      this.#listeners = this.#listeners?.filter((other) => other !== listener);
    };
  }

  /** For {@link runWithDeadline} alone. Only the first call counts. */
  abort(error: unknown): void {
    if (this.#passed !== undefined) return;
    this.#passed = { error };
    this.#controller?.abort(error);
    for (const listener of this.#listeners ?? []) listener();
  }
}

/** Runs an operation. Rejects with the error response as soon as its deadline passes, and ends what runs for it. */
export function runWithDeadline<T>(
  response: ServerResponse,
  ms: number,
  operation: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  return new Promise((settle, fail) => {
    const deadline = new Deadline();
    let isOver = false;
    const abort = (error: unknown) => {
      fail(error);
      deadline.abort(error);
    };
    // Not the request's `close`: that comes as soon as the body is read, while the client still waits.
    const onDisconnect = () => {
      if (!isOver) abort(new HttpError(CLIENT_DISCONNECTED, "The client has disconnected"));
    };
    const timer = setTimeout(() => abort(new DeadlineError()), ms);
    onClosed(response, onDisconnect);
    const end = () => {
      isOver = true;
      clearTimeout(timer);
    };
    if (response.destroyed) onDisconnect();
    operation(deadline).then(
      (result) => {
        end();
        settle(result);
      },
      (error) => {
        end();
        abort(error);
      },
    );
  });
}
