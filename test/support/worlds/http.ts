import { storeHttpError } from "@noisefloor/cli/process/http/store-http-error.ts";
import { createHttpApp, finishHttpApp, type HttpAppOptions } from "@noisefloor/http/app.ts";
import type { Operation } from "@noisefloor/http/operations/operation.ts";
import { createMetrics, type Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { checkAnswerHeaders } from "../oracle/answer-headers.ts";

export const silent = pino({ level: "silent" });

/** An application as the service creates it, with the operations that `register` adds. */
export async function makeApp(
  operations: readonly Operation[],
  register: (app: FastifyInstance, metrics: Metrics) => void,
  options: Partial<HttpAppOptions> = {},
): Promise<FastifyInstance> {
  const metrics = createMetrics();
  const made = { log: silent, metrics, toHttpError: storeHttpError, deadlineMs: 60_000 };
  // The same on every machine.
  const limits = { queryCapacity: 16, ...options.limits };
  const app = await createHttpApp({ ...made, ...options, limits });
  checkAnswerHeaders(app);
  register(app, metrics);
  await finishHttpApp(app, { operations, checks: {}, metrics, log: silent });
  return app;
}
