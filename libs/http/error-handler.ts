import type { FastifyError, FastifyReply } from "fastify";
import { DeadlineError } from "./requests/deadline.ts";
import { pathOf } from "./requests/request-target.ts";
import { HttpError } from "./responses/errors.ts";

/** Our responses to errors of Fastify and zlib: their own wording must not become part of our interface. */
const LIBRARY_ERRORS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  FST_ERR_BAD_URL: [400, "The path is not a valid URL path"],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, "The Content-Type of the request body is not supported: send application/json"],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, "The request body is not as long as Content-Length says"],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, "The request body is empty"],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, "The request body is not JSON"],
  Z_DATA_ERROR: [400, "The request body is not valid gzip"],
  Z_BUF_ERROR: [400, "The request body is not valid gzip"],
};

const BODY_TOO_LARGE = "FST_ERR_CTP_BODY_TOO_LARGE";
const UNEXPECTED_ERROR = "Encountered error while performing request";

/** The error response to an error of a dependency, such as the database; undefined for errors that it does not know. */
export type ToHttpError = (error: unknown) => HttpError | undefined;

declare module "fastify" {
  interface FastifyInstance {
    /** For routes that handle such an error without logging it. */
    toHttpError: ToHttpError;
  }
}

/** Sends the error response to whatever was thrown, as `{"message"}`. */
export function sendErrorResponse(
  error: FastifyError | HttpError,
  reply: FastifyReply,
  toHttpError: ToHttpError,
): FastifyReply {
  const { id, url, routeOptions } = reply.request;
  const fields = { requestId: id, operation: routeOptions.config.operation, path: pathOf(url) };
  if (error instanceof DeadlineError) reply.log.warn(fields, "deadline exceeded");
  if (error instanceof HttpError) return reply.code(error.status).send(error.body);
  if (error.code === BODY_TOO_LARGE) {
    const limit = routeOptions.bodyLimit;
    return reply.code(413).send({ message: `The request body is too large: at most ${limit} bytes are accepted` });
  }
  const known = LIBRARY_ERRORS[error.code];
  if (known !== undefined) return reply.code(known[0]).send({ message: known[1] });
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return reply.code(error.statusCode).send({ message: "Bad request" });
  }
  reply.log.error({ err: error, ...fields }, "request failed");
  const { status, body } = toHttpError(error) ?? new HttpError(500, UNEXPECTED_ERROR);
  return reply.code(status).send(body);
}
