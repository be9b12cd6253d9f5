import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { type HttpIntake, ROUTE_OPTIONS } from "../http/intake.ts";
import { readLogs } from "./logs.ts";
import { PROTOBUF, postOtlpLogs } from "./operation.ts";

/** What exporters of OpenTelemetry send over HTTP. Of a 200 they send nothing again, and of a 4xx neither. */
export function registerOtlp(app: FastifyInstance, { formats, addRoutes, ingest }: HttpIntake): void {
  addRoutes(app, (scope) => {
    scope.addHook("onRequest", async ({ headers }) => {
      if (headers["content-type"]?.includes("protobuf")) throw new HttpError(415, PROTOBUF);
    });
    scope.implement(
      postOtlpLogs,
      async (request, reply, { signal }) => {
        const parts = await readLogs(request.body, formats, request.reservation);
        if (parts.length === 0) return {};
        const { rejected } = await ingest(request, reply, parts, { formats }, signal);
        const [problem] = rejected;
        if (problem === undefined) return {};
        const { reason, detail } = problem.rejection;
        return {
          partialSuccess: { rejectedLogRecords: String(rejected.length), errorMessage: `${reason}: ${detail}` },
        };
      },
      ROUTE_OPTIONS,
    );
  });
}
