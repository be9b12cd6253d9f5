import { randomUUID } from "node:crypto";
import cors from "@fastify/cors";
import helmet from "@fastify/helmet";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import type { Logger } from "pino";
import { forbidCaching, setNoCache } from "./cache-headers.ts";
import { answerConnectionError, MALFORMED_REQUEST, REFUSES_IN_JSON, trackAnswer, trackSockets } from "./connections.ts";
import { refuseForeignPages, type SiteOptions } from "./cross-site.ts";
import { OPENAPI_PATH, registerDocs } from "./docs.ts";
import { HttpError } from "./errors.ts";
import { HEALTH_PATHS, type HealthOptions, registerHealth } from "./health.ts";
import { type LimitOptions, registerLimits } from "./limits/limits.ts";
import { describeOperations } from "./openapi.ts";
import { type Operation, routeOf } from "./operation.ts";
import { type RefusalOf, sendRefusal } from "./refusals.ts";
import { BODY_CHECK_MS, REQUEST_TIMEOUT_MS, receiveQuestions } from "./request-bodies.ts";
import { logRequests, requestTeller, tellAnswer } from "./request-log.ts";
import { readableTarget } from "./target.ts";

export type HttpAppOptions = {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly refusalOf?: RefusalOf;
  /** How long an operation's answer may take before it is a 503. */
  readonly deadlineMs: number;
  /** How often the bodies under way are looked at, for those that come too slowly. */
  readonly bodyCheckMs?: number;
  /** X-Forwarded-For counts only from these: anybody else could pretend to be whom they like. */
  readonly trustedProxies?: readonly string[];
  /** Whether callers' addresses may stand in logs. */
  readonly logsClientAddresses?: boolean;
  /** Where it is reached, by which pages of others are known. */
  readonly site?: SiteOptions;
  /** Whose pages may call the interface from a browser; `*` means anybody's. */
  readonly corsOrigins?: readonly string[];
  /** Where they differ from the defaults. */
  readonly limits?: Partial<LimitOptions>;
};

const METHODS = ["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"] as const;

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** How long a request's header alone may take to arrive. */
const HEADERS_TIMEOUT_MS = 20_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** Reached by any name. */
const NO_SITE: SiteOptions = { host: "0.0.0.0", allowedHosts: [], isIntakeOpen: () => false };

/** What another service may call a request, so that both logs tell of the same one. */
const REQUEST_ID = /^[\w.-]{1,64}$/;

/**
 * An HTTP application with what all our interfaces share: every answer is JSON, every error is `{"message"}` without a
 * library's wording, a doubled leading slash is one, unknown paths are 404 and known paths with another method 405.
 * An error that `refusalOf` knows is answered as it says; any other unexpected one is a 500.
 * Operations are registered on it, then {@link finishHttpApp} completes it.
 */
export async function createHttpApp(options: HttpAppOptions): Promise<FastifyInstance> {
  const { log, metrics, refusalOf = () => undefined, trustedProxies = [], corsOrigins = [], site = NO_SITE } = options;
  // At its usual level the framework would say once more where it listens.
  const frameworkLog: FastifyBaseLogger = log.child({}, { level: log.isLevelEnabled("warn") ? "warn" : log.level });
  const tell = requestTeller({ log, metrics, logsClientAddresses: options.logsClientAddresses ?? false });
  const app = Fastify({
    loggerInstance: frameworkLog,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    bodyLimit: MAX_BODY_BYTES,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS, ...REFUSES_IN_JSON },
    requestTimeout: REQUEST_TIMEOUT_MS,
    // What still comes on an open connection while we stop is answered like anything else, and in our words.
    return503OnClosing: false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // A path parameter of any length must reach its route: too long an address is a bad address, not an unknown path.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    rewriteUrl: (request) => readableTarget(request.url ?? "/"),
    genReqId: (request) => {
      const given = request.headers["x-request-id"];
      return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
    },
    // No hook runs for these, and they shall not be the only answers that nobody hears of.
    frameworkErrors: (error, request, reply) => {
      trackAnswer(reply.raw);
      tellAnswer(request, reply, tell);
      setNoCache(reply);
      return sendRefusal(error, reply, refusalOf);
    },
    clientErrorHandler: answerConnectionError,
  });
  app.decorate("sockets", trackSockets(app.server));
  app.server.on("checkExpectation", app.routing);
  app.decorate("deadlineMs", options.deadlineMs);
  app.decorate("bodyCheckMs", options.bodyCheckMs ?? BODY_CHECK_MS);
  app.setErrorHandler((error: FastifyError, _request, reply) => sendRefusal(error, reply, refusalOf));
  const notFound = (_request: FastifyRequest, reply: FastifyReply) => reply.code(404).send({ message: "Not found" });
  app.setNotFoundHandler(notFound);
  // Before any other hook: the next request of the same connection may be broken, and a stop may come.
  app.addHook("onRequest", async (_request, reply) => trackAnswer(reply.raw));
  logRequests(app, tell);
  forbidCaching(app);
  registerLimits(app, metrics, trustedProxies, options.limits);
  await app.register(helmet, {
    // The interface is no page. The pages that there are say for themselves what they may load.
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: corsOrigins.length === 0 ? "same-origin" : "cross-origin" },
    // Plain HTTP stays beside HTTPS: a browser told otherwise would no longer find it.
    strictTransportSecurity: false,
  });
  if (corsOrigins.length > 0) {
    await app.register(cors, {
      origin: corsOrigins.includes("*") ? "*" : [...corsOrigins],
      methods: ["GET", "POST"],
      allowedHeaders: ["key", "content-type"],
      exposedHeaders: ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-request-id"],
      maxAge: 86_400,
      // An OPTIONS request that is no preflight is a method like any other.
      strictPreflight: false,
    });
  }
  app.addHook("onRequest", async ({ raw }) => {
    // HTTP wants a 400 for it. Up to 1.0 there was no such field.
    if (raw.headers.host === undefined && raw.httpVersion === "1.1") throw new HttpError(400, MALFORMED_REQUEST);
  });
  // Before the body is looked at: what is wrong with it does not matter where nobody would read it.
  app.addHook("onRequest", async (request, reply) => (request.is404 ? notFound(request, reply) : undefined));
  refuseForeignPages(app, { ...site, corsOrigins });
  receiveQuestions(app);
  return app;
}

/** Adds what every interface has besides its operations. To be called when all of these are registered. */
export async function finishHttpApp(
  app: FastifyInstance,
  { operations, ...health }: HealthOptions & { readonly operations: readonly Operation[] },
): Promise<void> {
  registerHealth(app, health);
  await registerDocs(app, describeOperations(operations));
  sealRoutes(app, [...operations.map(routeOf), ...HEALTH_PATHS, OPENAPI_PATH]);
}

/** Makes known paths answer 405 to the methods that they do not have. */
export function sealRoutes(app: FastifyInstance, paths: readonly string[]): void {
  for (const url of new Set(paths)) {
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
