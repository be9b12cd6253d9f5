import { ErrorResponse } from "@noisefloor/http/operations/operation.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { findFormats } from "../../formats/all.ts";
import { sumOf } from "../../formats/ignored.ts";
import { type HttpIntake, ROUTE_OPTIONS } from "../http/intake.ts";
import { sensorKeyOf } from "../http/senders.ts";
import { readSplunkEvents } from "./events.ts";
import {
  getSplunkHealth,
  getSplunkHealthVersioned,
  HEC_HEALTHY,
  HEC_UNHEALTHY,
  postSplunkEvents,
  postSplunkEventsUnversioned,
  postSplunkEventsVersioned,
} from "./operation.ts";

/** What clients of Splunk's HTTP Event Collector send. */
export function registerSplunk(app: FastifyInstance, intake: HttpIntake): void {
  registerHealth(app, intake);
  intake.addRoutes(app, (scope) => {
    for (const operation of [postSplunkEvents, postSplunkEventsUnversioned, postSplunkEventsVersioned]) {
      scope.implement(
        operation,
        async (request, reply, { signal }) => {
          const { events, sourcetype } = await readSplunkEvents(request.body, request.reservation);
          const formats = (sourcetype && findFormats(sourcetype, intake.formats)) || intake.formats;
          const { accepted, rejected, ignored } = await intake.ingest(request, reply, events, { formats }, signal);
          const [problem] = rejected;
          const counts = { accepted, rejected: rejected.length, ignored: sumOf(ignored) };
          if (problem !== undefined && accepted === 0) {
            throw new HttpError(422, `${problem.rejection.reason}: ${problem.rejection.detail}`, counts);
          }
          return { text: "Success", code: 0, ...counts };
        },
        ROUTE_OPTIONS,
      );
    }
  });
}

/**
 * What shippers and load balancers ask before they send. Splunk needs no key for it, so many of them send none; one
 * that is sent is checked, so that its sender hears of a wrong key before any data are lost.
 */
function registerHealth(app: FastifyInstance, { senderOf, assertSpace }: HttpIntake): void {
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
