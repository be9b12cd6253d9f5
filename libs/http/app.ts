import { randomUUID } from "node:crypto";
import cors from "@fastify/cors";
import type { AccessLog } from "@noisefloor/telemetry/logger.ts";
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
import { basePathOf } from "./base-path.ts";
import { sendErrorResponse, type ToHttpError } from "./error-handler.ts";
import { HEALTH_PATH, HEALTH_PATHS, type HealthOptions, READY_PATH, registerHealth } from "./health.ts";
import { type LimitOptions, registerLimits } from "./limits/limits.ts";
import { OPENAPI_PATH, registerDocs } from "./operations/docs.ts";
import { registerImplement } from "./operations/implement.ts";
import { describeOperations } from "./operations/openapi.ts";
import { type Operation, routeOf } from "./operations/operation.ts";
import { rejectCrossSite, type SiteOptions } from "./requests/cross-site.ts";
import { discardUnreadBodies } from "./requests/discard-bodies.ts";
import { boundJsonBodies } from "./requests/json-bodies.ts";
import { BODY_CHECK_MS, limitDefaultBodies, REQUEST_TIMEOUT_MS } from "./requests/request-bodies.ts";
import {
  type LogRequest,
  type LookupSampling,
  logRequests,
  logUnrouted,
  requestLogger,
} from "./requests/request-log.ts";
import { normalizeRequestTarget } from "./requests/request-target.ts";
import { UNKNOWN_PARAMETERS } from "./requests/unknown-parameters.ts";
import { compressBodies } from "./response-bodies/compression.ts";
import { forbidCaching, setNoCache } from "./responses/cache-headers.ts";
import { handleClientError, JSON_ERRORS_ONLY, MALFORMED_REQUEST, trackSockets } from "./responses/connections.ts";
import { HttpError } from "./responses/errors.ts";
import { setSecurityHeaders } from "./responses/security-headers.ts";
import { isRestricted, offeredTarget } from "./server/route-allowlist.ts";

export type HttpAppOptions = {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly toHttpError?: ToHttpError;
  /** How long an operation may take before its response is a 503. */
  readonly deadlineMs: number;
  /** How often the pace of arriving bodies is checked. */
  readonly bodyCheckMs?: number;
  /** X-Forwarded-For counts only from these: any other client could invent it. */
  readonly trustedProxies?: readonly string[];
  /** Whether logs may contain callers' addresses. */
  readonly logsClientAddresses?: boolean;
  /** `all` by default. */
  readonly accessLog?: AccessLog;
  readonly lookupSampling?: LookupSampling;
  /** Where it is reached, to distinguish its own pages from foreign ones. */
  readonly site?: SiteOptions;
  /** The origins whose pages may call the interface from a browser; `*` means all. */
  readonly corsOrigins?: readonly string[];
  /** Overrides of the defaults. */
  readonly limits?: Partial<LimitOptions>;
};

declare module "fastify" {
  interface FastifyInstance {
    /** Answers an unknown path with a page; returns undefined when the client asks for none. */
    readonly notFoundPage: {
      send: ((request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined) | undefined;
    };
  }
}

const METHODS = ["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"] as const;

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** How long a request's header may take to arrive. */
const HEADERS_TIMEOUT_MS = 20_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** Reachable under any name. */
const NO_SITE: SiteOptions = { host: "0.0.0.0", allowedHosts: [], isIntakeOpen: () => false };

/** The request ids that we accept from other services, so that both logs have the same one. */
const REQUEST_ID = /^[\w.-]{1,64}$/;

/**
 * An HTTP application with what all our interfaces share: responses are JSON unless an operation declares another media
 * type, every error is `{"message"}` without a library's wording, doubled slashes are one, unknown paths are 404
 * and known paths with another method 405. `toHttpError` turns the errors of dependencies into error responses; any
 * other unexpected error is a 500. Register the operations on it, then call {@link finishHttpApp}.
 */
export async function createHttpApp(options: HttpAppOptions): Promise<FastifyInstance> {
  const { metrics, toHttpError = () => undefined, trustedProxies = [], corsOrigins = [], site = NO_SITE } = options;
  const requestLog = requestLogger(options);
  const app = createServer(options, requestLog.logRequest, toHttpError);
  app.decorate("toHttpError", toHttpError);
  app.decorate("deadlineMs", options.deadlineMs);
  registerImplement(app);
  app.decorate("bodyCheckMs", options.bodyCheckMs ?? BODY_CHECK_MS);
  app.setErrorHandler((error: FastifyError, _request, reply) => sendErrorResponse(error, reply, toHttpError));
  app.decorate("notFoundPage", { send: undefined });
  const notFound = (request: FastifyRequest, reply: FastifyReply) =>
    (mayGetPage(request) ? app.notFoundPage.send?.(request, reply) : undefined) ??
    reply.code(404).send({ message: "Not found" });
  app.setNotFoundHandler(notFound);
  logRequests(app, requestLog);
  compressBodies(app);
  forbidCaching(app);
  registerLimits(app, metrics, trustedProxies, options.limits);
  setSecurityHeaders(app, corsOrigins.length > 0);
  if (corsOrigins.length > 0) await allowOrigins(app, corsOrigins);
  app.addHook("onRequest", (request, reply, done) => {
    const { raw } = request;
    // HTTP/1.1 requires the 400; HTTP/1.0 has no Host field.
    const isMalformed = raw.headers.host === undefined && raw.httpVersion === "1.1";
    if (isMalformed) done(new HttpError(400, MALFORMED_REQUEST));
    // Before the body is read: for an unknown path its errors do not matter.
    else if (request.is404) notFound(request, reply);
    else done();
  });
  // Proxies and orchestrators poll these under any name, and they reveal nothing.
  rejectCrossSite(app, { ...site, corsOrigins, uncheckedPaths: [HEALTH_PATH, READY_PATH] });
  discardUnreadBodies(app);
  limitDefaultBodies(app);
  boundJsonBodies(app);
  return app;
}

/** Clients of the API get JSON whatever they accept, and a port that offers some routes has no pages. */
function mayGetPage({ method, url, raw }: FastifyRequest): boolean {
  return (method === "GET" || method === "HEAD") && !/^\/+v\d+(?:\/|$)/.test(url) && !isRestricted(raw);
}

function createServer(
  { log, trustedProxies = [] }: HttpAppOptions,
  logRequest: LogRequest,
  toHttpError: ToHttpError,
): FastifyInstance {
  // At info Fastify would log once more where it listens.
  const frameworkLog: FastifyBaseLogger = log.child({}, { level: log.isLevelEnabled("warn") ? "warn" : log.level });
  const app = Fastify({
    loggerInstance: frameworkLog,
    // Nearly all requests log nothing.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS, ...JSON_ERRORS_ONLY },
    requestTimeout: REQUEST_TIMEOUT_MS,
    // During a shutdown requests on open connections are handled as always.
    return503OnClosing: false,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // A path parameter of any length must reach its route: an overlong address is a 400, not an unknown path.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    rewriteUrl: (request) => offeredTarget(request, normalizeRequestTarget(request.url ?? "/")),
    genReqId: (request) => {
      const given = request.headers["x-request-id"];
      return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
    },
    // No hook runs for these, so they are logged here.
    frameworkErrors: (error, request, reply) => {
      logUnrouted(request, reply, logRequest);
      setNoCache(reply);
      return sendErrorResponse(error, reply, toHttpError);
    },
    clientErrorHandler: handleClientError,
  });
  trackSockets(app.server);
  return app;
}

/** Response headers that a page may read besides the body. */
const EXPOSED_HEADERS = [
  "ratelimit-limit",
  "ratelimit-remaining",
  "ratelimit-reset",
  UNKNOWN_PARAMETERS,
  "x-request-id",
  "retry-after",
  "etag",
  "search-count",
  "adjusted-query",
  "feed-fell-from",
  "next-cursor",
  "feed-cursor",
  "feed-truncated",
  "x-taxii-date-added-first",
  "x-taxii-date-added-last",
];

async function allowOrigins(app: FastifyInstance, corsOrigins: readonly string[]): Promise<void> {
  await app.register(cors, {
    origin: corsOrigins.includes("*") ? "*" : [...corsOrigins],
    methods: ["DELETE", "GET", "PATCH", "POST", "PUT"],
    allowedHeaders: ["key", "authorization", "content-type", "if-none-match"],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 86_400,
    // An OPTIONS request that is no preflight is an ordinary request.
    strictPreflight: false,
  });
}

/** Adds what every interface has besides its operations. Call it when all of these are registered. */
export async function finishHttpApp(
  app: FastifyInstance,
  {
    operations,
    publicUrl,
    ...health
  }: HealthOptions & { readonly operations: readonly Operation[]; readonly publicUrl?: string | undefined },
): Promise<void> {
  registerHealth(app, health);
  const basePath = basePathOf(publicUrl);
  await registerDocs(app, () => describeOperations(operations, { program: health.version, basePath }), basePath);
  sealRoutes(app, [...operations.map(routeOf), ...HEALTH_PATHS, OPENAPI_PATH]);
}

/** Makes known paths answer 405 to the methods that they do not have. */
export function sealRoutes(app: FastifyInstance, paths: readonly string[]): void {
  for (const url of new Set(paths)) {
    const allowed = METHODS.filter((method) => app.hasRoute({ method, url }));
    const reject = async (_request: FastifyRequest, reply: FastifyReply) =>
      reply
        .code(405)
        .header("allow", allowed.join(", "))
        .send({ message: `Method not allowed: use ${allowed.join(" or ")}` });
    const others = METHODS.filter((method) => !allowed.includes(method));
    // In onRequest, before the body is read: its errors do not matter.
    if (others.length > 0) app.route({ method: others, url, onRequest: reject, handler: reject });
  }
}
