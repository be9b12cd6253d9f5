import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { answerConnectionError } from "./connections.ts";
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

const UNAVAILABLE = "The store cannot be reached at the moment: send the request again later";
const UNEXPECTED_ERROR = "Encountered error while performing request";

const METHODS = ["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"] as const;

/**
 * An HTTP application with what all our interfaces share: every answer is JSON, every error is `{"message"}` without a
 * library's wording, a doubled leading slash is one, unknown paths are 404 and known paths with another method 405.
 * An error that passes by itself, as `isTransient` judges it, is a 503; any other unexpected one is a 500.
 * Routes are registered on it before {@link sealRoutes}.
 */
export function createHttpApp(
  logger: FastifyBaseLogger,
  isTransient: (error: unknown) => boolean = () => false,
  trustedProxies: readonly string[] = [],
): FastifyInstance {
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: 1024 * 1024,
    // A path parameter of any length must reach its route: too long an address is a bad address, not an unknown path.
    routerOptions: { maxParamLength: 16_384 },
    requestTimeout: 120_000,
    // X-Forwarded-For counts only from these: anybody else could pretend to be whom they like.
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    rewriteUrl: (request) => (request.url ?? "/").replace(/^\/{2,}/, "/"),
    frameworkErrors: (error, _request, reply) => sendError(error, reply, isTransient),
    clientErrorHandler: answerConnectionError,
  });
  app.setErrorHandler((error: FastifyError, _request, reply) => sendError(error, reply, isTransient));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ message: "Not found" }));
  return app;
}

/** Makes known paths answer 405 to the methods that they do not have. To be called when all routes are registered. */
export function sealRoutes(app: FastifyInstance, paths: readonly string[]): void {
  for (const url of paths) {
    const allowed = METHODS.filter((method) => app.hasRoute({ method, url }));
    const refuse = async (_request: FastifyRequest, reply: FastifyReply) =>
      reply
        .code(405)
        .header("allow", allowed.join(", "))
        .send({ message: `Method not allowed: use ${allowed.join(" or ")}` });
    for (const method of METHODS) {
      // Before the body is looked at: what is wrong with it does not matter here.
      if (!allowed.includes(method)) app.route({ method, url, onRequest: refuse, handler: refuse });
    }
  }
}

function sendError(error: FastifyError | HttpError, reply: FastifyReply, isTransient: (error: unknown) => boolean) {
  if (error instanceof HttpError) return reply.code(error.status).send(error.body);
  const known = FRAMEWORK_ERRORS[error.code];
  if (known !== undefined) return reply.code(known[0]).send({ message: known[1] });
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return reply.code(error.statusCode).send({ message: "Bad request" });
  }
  reply.log.error({ err: error, requestId: reply.request.id, url: reply.request.url }, "request failed");
  if (isTransient(error)) return reply.code(503).send({ message: UNAVAILABLE });
  return reply.code(500).send({ message: UNEXPECTED_ERROR });
}
