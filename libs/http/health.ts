import { hash, timingSafeEqual } from "node:crypto";
import { inTime } from "@noisefloor/domain/time/unless-aborted.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { LOGGED_AT_DEBUG } from "./requests/request-log.ts";
import { HttpError } from "./responses/errors.ts";

export const HEALTH_PATH = "/healthz";
export const READY_PATH = "/readyz";
export const METRICS_PATH = "/metrics";
export const HEALTH_PATHS = [HEALTH_PATH, READY_PATH, METRICS_PATH] as const;

/** Checks a dependency that the service cannot work without. Rejects, with the reason for the log, while it is down. */
export type ReadinessCheck = () => Promise<void>;

/**
 * What a check rejects with while the service still loads its data: every start takes a moment, so it is no warning.
 */
export class LoadingError extends Error {}

export type HealthOptions = {
  /** By name, as responses and logs call them. */
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  /** The version of the program, for `/healthz`. */
  readonly version?: string | undefined;
  readonly metrics: Pick<Metrics, "text" | "contentType" | "gaugeBy">;
  /** The bearer token that a scrape must send, if any. */
  readonly metricsToken?: string | undefined;
  readonly log: Logger;
};

const CHECK_TIMEOUT_MS = 2_000;
const CHECK_INTERVAL_MS = 1_000;

/**
 * `/healthz`: the process responds. `/readyz`: it can do its work, else 503 with the failing checks. `/metrics`: for
 * Prometheus. All are polled every few seconds, so requests are logged at debug, but a change of readiness always is.
 */
export function registerHealth(
  app: FastifyInstance,
  { checks, version, metrics, metricsToken, log }: HealthOptions,
): void {
  const route = (operation: string) => ({ ...LOGGED_AT_DEBUG, config: { operation } });
  let lastFailing = "";
  const failing = cached(async () => {
    const failures = await findFailing(checks);
    const names = [...failures.keys()].sort().join(", ");
    if (names !== lastFailing) {
      if (names === "") log.info("ready again");
      else if (areLoading(failures)) log.info({ failing: names }, "not ready yet: loading");
      else log.warn({ err: [...failures.values()][0], failing: names }, "not ready");
      lastFailing = names;
    }
    return failures;
  });
  metrics.gaugeBy(
    "noisefloor_ready",
    "1 while a dependency that the service cannot work without is up, else 0",
    "check",
    async () => {
      const failures = await failing();
      return Object.keys(checks).map((name) => [name, failures.has(name) ? 0 : 1] as const);
    },
  );

  app.get(HEALTH_PATH, route("health"), async () => ({ status: "ok", ...(version !== undefined && { version }) }));
  app.get(READY_PATH, route("readiness"), async (_request, reply) => {
    const failures = await failing();
    const states = Object.fromEntries(
      Object.keys(checks).map((name) => [name, failures.has(name) ? "unavailable" : "ok"]),
    );
    if (failures.size === 0) return { status: "ready", checks: states };
    const names = [...failures.keys()].sort().join(", ");
    return reply.code(503).send({ message: `Not ready: ${names}`, status: "unavailable", checks: states });
  });
  app.get(METRICS_PATH, route("metrics"), async (request, reply) => {
    if (metricsToken !== undefined && !isSame(request.headers.authorization ?? "", `Bearer ${metricsToken}`)) {
      throw new HttpError(401, "Unauthorized");
    }
    return reply.type(metrics.contentType).send(await metrics.text());
  });
}

async function findFailing(checks: HealthOptions["checks"]): Promise<ReadonlyMap<string, unknown>> {
  const failures = new Map<string, unknown>();
  await Promise.all(
    Object.entries(checks).map(([name, check]) =>
      inTime(check(), CHECK_TIMEOUT_MS, `no answer within ${CHECK_TIMEOUT_MS} ms`).catch((error) =>
        failures.set(name, error),
      ),
    ),
  );
  return failures;
}

function areLoading(failures: ReadonlyMap<string, unknown>): boolean {
  return [...failures.values()].every((error) => error instanceof LoadingError);
}

/** Runs the checks at most once a second: the path needs no key, so any client may poll it as fast as it likes. */
function cached<T>(run: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    if (result === undefined) {
      result = run();
      setTimeout(() => {
        result = undefined;
      }, CHECK_INTERVAL_MS).unref();
    }
    return result;
  };
}

/** Compares digests of one length in constant time, so that a response's delay reveals nothing about the token. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", expected, "buffer"));
}
