import { NO_CONTENT } from "@noisefloor/http/operations/operation.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { sumOf } from "../../formats/ignored.ts";
import { type HttpIntake, ROUTE_OPTIONS } from "../http/intake.ts";
import { PROTOBUF, postLokiStreams } from "./operation.ts";
import { readStreams } from "./streams.ts";

/** What clients of Loki send. After a 400 they go on with what comes next; Fluent Bit sends any other 4xx again. */
export function registerLoki(app: FastifyInstance, { formats, addRoutes, ingest }: HttpIntake): void {
  addRoutes(app, (scope) => {
    scope.addHook("onRequest", async ({ headers }) => {
      if (headers["content-type"]?.includes("protobuf")) throw new HttpError(415, PROTOBUF);
    });
    scope.implement(
      postLokiStreams,
      async (request, reply, { signal }) => {
        const parts = await readStreams(request.body, formats, request.reservation);
        if (parts.length === 0) return NO_CONTENT;
        const { accepted, rejected, ignored } = await ingest(request, reply, parts, { formats }, signal);
        const [problem] = rejected;
        if (problem === undefined || accepted > 0) return NO_CONTENT;
        const { reason, detail } = problem.rejection;
        const counts = { accepted, rejected: rejected.length, ignored: sumOf(ignored) };
        throw new HttpError(400, `${reason}: ${detail}`, counts);
      },
      ROUTE_OPTIONS,
    );
  });
}
