import { hash, timingSafeEqual } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { HttpError } from "./errors.ts";

export const HEALTH_PATH = "/healthz";
export const READY_PATH = "/readyz";
const METRICS_PATH = "/metrics";
export const HEALTH_PATHS = [HEALTH_PATH, READY_PATH, METRICS_PATH] as const;

/** Something the service cannot do its work without. Rejects, with the reason for the log, while it is not there. */
export type ReadinessCheck = () => Promise<void>;

export type HealthOptions = {
  /** By the name that answers and logs call them. */
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  readonly metrics: Pick<Metrics, "text" | "contentType" | "gaugeBy">;
  /** What a scrape must send as its bearer token, if anything. */
  readonly metricsToken?: string | undefined;
  readonly log: Logger;
};

const CHECK_TIMEOUT_MS = 2_000;
const CHECK_INTERVAL_MS = 1_000;

/**
 * `/healthz`: the process answers. `/readyz`: it can do its work, else 503 with what is missing. `/metrics`: figures for
 * Prometheus. They are asked every few seconds, so they are logged at debug only, but a change of readiness always is.
 */
export function registerHealth(app: FastifyInstance, { checks, metrics, metricsToken, log }: HealthOptions): void {
  const route = (operation: string) => ({ logLevel: "debug" as const, config: { operation } });
  let missing = "";
  const failing = reused(async () => {
    const failures = await findFailing(checks);
    const names = [...failures.keys()].sort().join(", ");
    if (names !== missing) {
      if (names === "") log.info("ready again");
      else log.warn({ err: [...failures.values()][0], missing: names }, "not ready");
      missing = names;
    }
    return failures;
  });
  metrics.gaugeBy(
    "noisefloor_ready",
    "1 while what the service cannot work without is there, else 0",
    "check",
    async () => {
      const failures = await failing();
      return Object.keys(checks).map((name) => [name, failures.has(name) ? 0 : 1] as const);
    },
  );

  app.get(HEALTH_PATH, route("health"), async () => ({ status: "ok" }));
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
    Object.entries(checks).map(([name, check]) => withinTime(check).catch((error) => failures.set(name, error))),
  );
  return failures;
}

/** Asks at most once a second, however many want to know: the path needs no key, so anybody may ask it all day. */
function reused<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    if (answer === undefined) {
      answer = ask();
      setTimeout(() => {
        answer = undefined;
      }, CHECK_INTERVAL_MS).unref();
    }
    return answer;
  };
}

/** Compared as digests of one length, so that an answer's delay says nothing about the token. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", expected, "buffer"));
}

async function withinTime(check: ReadinessCheck): Promise<void> {
  const timer = new AbortController();
  const tooLate = sleep(CHECK_TIMEOUT_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`);
  });
  try {
    await Promise.race([check(), tooLate]);
  } finally {
    timer.abort();
    tooLate.catch(() => {});
  }
}
