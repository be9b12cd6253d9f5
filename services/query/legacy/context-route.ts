import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { readPath } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { type AddressContext, readContexts, streamContexts } from "../address/read-contexts.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { bulkCost, FULL_CONTEXT_COST } from "../costs.ts";
import { ADDRESS } from "../parameters.ts";
import { rejectUnread } from "../reject-unread.ts";
import {
  ADDRESSES_BODY,
  ADDRESSES_ROUTE,
  asSent,
  BODY_ERROR_RESPONSES,
  readAddresses,
  textsByAddress,
} from "../request-body.ts";
import { BAD_ADDRESS, LIMIT_HEADERS, TOO_MANY_LOOKUPS } from "../wire.ts";
import { toSeenAddress } from "./context-response.ts";
import { contextSchema, EXAMPLE_SEEN, type SeenAddress, seenSchema } from "./context-schema.ts";
import { LEGACY } from "./schema.ts";

const context = defineOperation({
  ...LEGACY,
  id: "legacyContext",
  isLookup: true,
  method: "GET",
  path: "/v2/noise/context/{ip}",
  summary: "The context of a scanner, in a flat form",
  pathParameters: { ip: ADDRESS },
  success: {
    status: 200,
    description: "The context, or that the address was never seen.",
    schema: contextSchema,
    example: EXAMPLE_SEEN,
    headers: LIMIT_HEADERS,
  },
  errorResponses: { 400: BAD_ADDRESS, 429: TOO_MANY_LOOKUPS },
});

const multiContext = defineOperation({
  ...LEGACY,
  id: "legacyMultiContext",
  method: "POST",
  path: "/v2/noise/multi/context",
  summary: "The contexts of many scanners, in a flat form",
  pathParameters: {},
  body: ADDRESSES_BODY,
  success: {
    status: 200,
    description: "The contexts of the addresses that were seen, in the order of the request, each once.",
    schema: z.strictObject({ message: z.literal("ok"), data: z.array(seenSchema) }).meta({ id: "LegacyContexts" }),
    example: { message: "ok", data: [EXAMPLE_SEEN] },
    headers: LIMIT_HEADERS,
  },
  errorResponses: { ...BODY_ERROR_RESPONSES, 429: TOO_MANY_LOOKUPS },
});

export const CONTEXT_OPERATIONS = [context, multiContext];

export function registerLegacyContext(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(context, async (request, reply, deadline) => {
    const caller = deps.authenticate(request);
    const ip = readPath(request.params.ip, ADDRESS);
    const contexts = await deps.countLookups({ request, reply, caller, lookups: 1, deadline }, () =>
      app.admission.run(request, FULL_CONTEXT_COST, deadline.signal, () =>
        readContexts([ip], [GLOBAL_SCOPE], true, deps, deadline.signal),
      ),
    );
    return toSeenAddress(ip, contexts.get(ip), deps.catalogue) ?? { ip, seen: false as const };
  });

  app.implement(
    multiContext,
    async (request, reply, deadline, { toJsonArray }) => {
      const caller = deps.authenticate(request);
      const sent = textsByAddress(readAddresses(request.body));
      const valid = [...sent.keys()];
      const data = await deps.countLookups({ request, reply, caller, lookups: valid.length, deadline }, () =>
        app.admission.run(request, bulkCost(valid.length, false), deadline.signal, () =>
          toJsonArray(
            onlySeen(asSent(streamContexts(valid, [GLOBAL_SCOPE], true, deps, deadline.signal), sent), deps.catalogue),
          ),
        ),
      );
      return { message: "ok" as const, data };
    },
    { ...ADDRESSES_ROUTE, preParsing: rejectUnread(app, deps.authenticate) },
  );
}

export async function* onlySeen(
  contexts: AsyncIterable<readonly [ip: string, context: AddressContext]>,
  catalogue: TagCatalogue,
): AsyncGenerator<SeenAddress> {
  for await (const [ip, context] of contexts) {
    const seen = toSeenAddress(ip, context, catalogue);
    if (seen !== undefined) yield seen;
  }
}
