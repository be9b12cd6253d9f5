import { randomUUID } from "node:crypto";
import { readPath } from "@noisefloor/http/requests/parameters.ts";
import type { ToJsonArray } from "@noisefloor/http/response-bodies/response-body.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { findFormats } from "../../formats/all.ts";
import { type HttpIntake, ROUTE_OPTIONS } from "../http/intake.ts";
import { type BulkItem, readBulk } from "./bulk.ts";
import { answerLikeElasticsearch, REJECTED_TYPE } from "./errors.ts";
import { registerHandshake, registerInfo } from "./handshake.ts";
import { INDEX, postBulk, postDocument, postIndexBulk, putBulk, putIndexBulk } from "./operation.ts";
import { describeItems, formatRejection, type Result, toParts } from "./outcomes.ts";

/** What Elasticsearch's clients send. */
export function registerElasticsearch(app: FastifyInstance, intake: HttpIntake): void {
  const { formats, ingest } = intake;
  const itemsOf = new WeakMap<FastifyRequest, readonly BulkItem[]>();
  const answerBulk = async (
    index: string | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
    signal: AbortSignal | undefined,
    toJsonArray: ToJsonArray,
  ) => {
    const startedAt = performance.now();
    const items = await readBulk(request.body, index);
    itemsOf.set(request, items);
    const parts = toParts(items, formats);
    const result =
      parts.size === 0 ? undefined : await ingest(request, reply, [...parts.values()], { formats }, signal);
    // Vector and Fluent Bit look for the second and third in the text, side by side.
    return {
      took: Math.round(performance.now() - startedAt),
      errors: parts.size < items.length || (result?.rejected ?? []).length > 0,
      items: await toJsonArray(describeItems(items, parts, result)),
    };
  };
  app.register(async (scope) => {
    answerLikeElasticsearch(scope, () => undefined);
    registerInfo(scope, intake.senderOf);
  });
  intake.addRoutes(app, (scope) => {
    answerLikeElasticsearch(scope, (request) => itemsOf.get(request));
    registerHandshake(scope);
    for (const operation of [postBulk, putBulk]) {
      scope.implement(
        operation,
        (request, reply, { signal }, { toJsonArray }) => answerBulk(undefined, request, reply, signal, toJsonArray),
        ROUTE_OPTIONS,
      );
    }
    for (const operation of [postIndexBulk, putIndexBulk]) {
      scope.implement(
        operation,
        async (request, reply, { signal }, { toJsonArray }) =>
          answerBulk(readPath(request.params.index, INDEX), request, reply, signal, toJsonArray),
        ROUTE_OPTIONS,
      );
    }
    scope.implement(
      postDocument,
      async (request, reply, { signal }) => {
        const index = readPath(request.params.index, INDEX);
        const { body } = request;
        if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "The request body is empty");
        const given = { formats: findFormats(index, formats) ?? formats };
        const { records, rejected } = await ingest(request, reply, [{ bytes: body }], given, signal);
        const [problem] = rejected;
        if (problem !== undefined)
          throw new HttpError(400, formatRejection(problem.rejection), { type: REJECTED_TYPE });
        const result: Result = records.length > 0 ? "created" : "noop";
        return { ...WRITTEN, _index: index, _id: randomUUID(), result };
      },
      ROUTE_OPTIONS,
    );
  });
}

/** What Elasticsearch says of every document that it has written. */
const WRITTEN = { _version: 1, _shards: { total: 1, successful: 1, failed: 0 }, _seq_no: 0, _primary_term: 1 } as const;
