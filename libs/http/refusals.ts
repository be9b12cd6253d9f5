import type { FastifyError, FastifyReply } from "fastify";
import { DeadlineError } from "./deadline.ts";
import { HttpError } from "./errors.ts";

/** What the framework's own refusals are called here; its wording must not become part of our interface. */
const FRAMEWORK_ERRORS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  FST_ERR_BAD_URL: [400, "The path is not a valid URL path"],
  FST_ERR_CTP_BODY_TOO_LARGE: [413, "The request body is too large"],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, "The Content-Type of the request body is not supported"],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, "The request body is not as long as Content-Length says"],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, "The request body is empty"],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, "The request body is not JSON"],
  Z_DATA_ERROR: [400, "The request body is not valid gzip"],
  Z_BUF_ERROR: [400, "The request body is not valid gzip"],
};

const UNEXPECTED_ERROR = "Encountered error while performing request";

/** Judges errors that come from behind the application: the refusal that they mean for the caller, if it is a known one. */
export type RefusalOf = (error: unknown) => HttpError | undefined;

/** Turns whatever was thrown into an answer of `{"message"}` in our words. */
export function sendRefusal(error: FastifyError | HttpError, reply: FastifyReply, refusalOf: RefusalOf): FastifyReply {
  const path = pathOf(reply.request.url);
  if (error instanceof DeadlineError) {
    reply.log.warn({ operation: reply.request.routeOptions.config.operation, path }, "the answer took too long");
  }
  if (error instanceof HttpError) return reply.code(error.status).send(error.body);
  const known = FRAMEWORK_ERRORS[error.code];
  if (known !== undefined) return reply.code(known[0]).send({ message: known[1] });
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return reply.code(error.statusCode).send({ message: "Bad request" });
  }
  // The logger of a reply names its request.
  reply.log.error({ err: error, operation: reply.request.routeOptions.config.operation, path }, "request failed");
  const refusal = refusalOf(error) ?? new HttpError(500, UNEXPECTED_ERROR);
  return reply.code(refusal.status).send(refusal.body);
}

/** Without the query string: some clients put secrets there, and logs are read by many. */
export function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
