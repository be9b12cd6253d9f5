/** An answer other than success, thrown where it becomes clear. Its body is all that the caller gets to see. */
export class HttpError extends Error {
  override name = "HttpError";
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, message: string, more: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.body = { ...more, message };
  }
}
