import { ErrorAnswer, registerOperation } from "@noisefloor/http/operation.ts";
import type { FastifyInstance } from "fastify";
import { getSplunkHealth, getSplunkHealthVersioned, HEC_HEALTHY, HEC_UNHEALTHY } from "./operation.ts";

/**
 * What shippers and load balancers ask before they send. They ask without a key, as Splunk answers any caller, so the
 * answer says no more than whether events are taken.
 */
export function registerSplunkHealth(
  app: FastifyInstance,
  { assertSpace }: { readonly assertSpace?: (() => void) | undefined },
): void {
  for (const operation of [getSplunkHealth, getSplunkHealthVersioned]) {
    registerOperation(app, operation, async () => {
      try {
        assertSpace?.();
        return HEC_HEALTHY;
      } catch {
        return new ErrorAnswer(503, HEC_UNHEALTHY);
      }
    });
  }
}
