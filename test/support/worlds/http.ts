import { storeHttpError } from "@noisefloor/cli/process/http/store-http-error.ts";
import { createHttpApp, finishHttpApp, type HttpAppOptions } from "@noisefloor/http/app.ts";
import type { Operation } from "@noisefloor/http/operations/operation.ts";
import { createMetrics, type Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { pino } from "pino";
import { checkAnswerHeaders } from "../oracle/answer-headers.ts";

export const silent = pino({ level: "silent" });

/** What tests ask of an application. */
export type AskedApp = {
  inject(request: InjectOptions | string): Promise<LightMyRequestResponse>;
  listen(options: { readonly host: string; readonly port: number }): Promise<string>;
};

/** An application that is made when it is first asked: many tests ask none, and its routes take a tenth of a second. */
export type LazyApp = AskedApp & {
  made(): Promise<FastifyInstance>;
  /** Does nothing when it was never made. */
  close(): Promise<void>;
};

export function makeLazyApp(make: () => Promise<FastifyInstance>): LazyApp {
  let app: Promise<FastifyInstance> | undefined;
  const made = () => {
    app ??= make();
    return app;
  };
  return {
    made,
    inject: async (request) => (await made()).inject(request),
    listen: async (options) => (await made()).listen(options),
    close: async () => (await app)?.close(),
  };
}

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
