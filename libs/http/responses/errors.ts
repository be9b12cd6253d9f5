/** An error response, thrown where it becomes clear that the request cannot succeed. The caller sees the body only. */
export class HttpError extends Error {
  override name = "HttpError";
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, message: string, more: Readonly<Record<string, unknown>> = {}) {
    // Without a stack trace, which no log shows and which costs more than the rest of the error.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.status = status;
    // Not by spreading: V8 would make a hidden class for each error.
    this.body = Object.assign({}, more, { message });
  }
}
