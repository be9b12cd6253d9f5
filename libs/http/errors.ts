/** An error response, thrown where it becomes clear that the request cannot succeed. The caller sees the body only. */
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
