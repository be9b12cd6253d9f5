import { type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { findFormats } from "../../formats/all.ts";
import { sumOf } from "../../formats/ignored.ts";
import { tpot } from "../../formats/sensors/tpot.ts";
import { countReasons } from "../../pipeline/pipeline.ts";
import { type HttpIntake, type RequestResult, ROUTE_OPTIONS } from "./intake.ts";
import {
  FORMAT,
  LISTED_REJECTIONS,
  NONE_ACCEPTED,
  postObservationLines,
  postObservations,
  postTpotBatch,
  SENSOR,
} from "./operation.ts";
import { splitBody } from "./records.ts";

/** `POST /v1/observations`, and what T-Pot sends. Each answers only after the accepted records are safe. */
export function registerObservations(app: FastifyInstance, { formats: all, addRoutes, ingest }: HttpIntake): void {
  const formatsOf = (query: RawQuery) => {
    // The description does not know the names of field maps.
    const named = typeof query.format === "string" ? findFormats(query.format, all) : undefined;
    return named ?? findFormats(readParameter(query, FORMAT), all) ?? all;
  };
  addRoutes(app, (scope) => {
    for (const operation of [postObservations, postObservationLines]) {
      scope.implement(
        operation,
        async (request, reply, { signal }) => {
          const formats = formatsOf(request.query);
          const sensorId = readParameter(request.query, SENSOR);
          return answer(await ingest(request, reply, await splitBody(request.body), { formats, sensorId }, signal));
        },
        ROUTE_OPTIONS,
      );
    }
    scope.implement(
      postTpotBatch,
      async (request, reply, { signal }) =>
        answer(await ingest(request, reply, await splitBody(request.body), { formats: [tpot] }, signal)),
      ROUTE_OPTIONS,
    );
  });
}

/** @throws HttpError 422 when nothing was accepted; the records are kept as dead letters all the same. */
function answer({ accepted, rejected, ignored }: RequestResult) {
  const counts = {
    accepted,
    rejected: rejected.length,
    ignored: sumOf(ignored),
    reasons: Object.fromEntries(countReasons(rejected)),
    ignored_reasons: Object.fromEntries(ignored),
    rejections: rejected.slice(0, LISTED_REJECTIONS).map(({ record, rejection }) => ({
      position: record.position,
      ...rejection,
    })),
  };
  if (accepted === 0 && rejected.length > 0) throw new HttpError(422, NONE_ACCEPTED, counts);
  return counts;
}
