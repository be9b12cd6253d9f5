import type { Sender } from "@noisefloor/domain/access/publishing.ts";
import { ErrorResponse } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { getSplunkHealth, getSplunkHealthVersioned, HEC_HEALTHY, HEC_UNHEALTHY } from "./operation.ts";
import { sensorKeyOf } from "./senders.ts";

type SplunkHealthOptions = {
  /** Rejects an unknown key. */
  readonly senderOf: (request: FastifyRequest) => Promise<Sender>;
  /** Throws while nothing can be stored. */
  readonly assertSpace?: (() => void) | undefined;
};

/**
 * What shippers and load balancers ask before they send. Splunk needs no key for it, so many of them send none; one
 * that is sent is checked, so that its sender hears of a wrong key before any data are lost.
 */
export function registerSplunkHealth(app: FastifyInstance, { senderOf, assertSpace }: SplunkHealthOptions): void {
  for (const operation of [getSplunkHealth, getSplunkHealthVersioned]) {
    app.implement(operation, async (request) => {
      if (sensorKeyOf(request) !== "") await senderOf(request);
      try {
        assertSpace?.();
        return HEC_HEALTHY;
      } catch {
        return new ErrorResponse(503, HEC_UNHEALTHY);
      }
    });
  }
}
