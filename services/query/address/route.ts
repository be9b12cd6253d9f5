import { isGlobalOnly } from "@noisefloor/domain/access/scope.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { boolean, readParameter, readPath } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { bulkCost, FULL_CONTEXT_COST } from "../costs.ts";
import { ADDRESS, namedSensorScopes, readScopes, WORKSPACE_LABELS } from "../parameters.ts";
import { rejectUnread } from "../reject-unread.ts";
import {
  ADDRESSES_BODY,
  ADDRESSES_ROUTE,
  asSent,
  BODY_ERROR_RESPONSES,
  readAddresses,
  textsByAddress,
} from "../request-body.ts";
import { BAD_ADDRESS, LIMIT_HEADERS, NOT_ENTITLED, TOO_MANY_LOOKUPS, texts } from "../wire.ts";
import { readContexts, streamContexts, streamSummaries } from "./read-contexts.ts";
import type { AddressSummary } from "./records.ts";
import { REQUEST_METADATA, toFullContext, toQuickContext } from "./response.ts";
import type { RouteDeps } from "./route-deps.ts";
import { EXAMPLE_CONTEXT, fullContextSchema, quickContextSchema, requestMetadataSchema } from "./schema.ts";

/** One SDK sends Python's booleans. */
const QUICK = boolean({
  name: "quick",
  description: "Whether to return the short form: found or not, classification and trust level.",
  alsoTrue: ["True"],
  alsoFalse: ["False"],
});

const SCOPES =
  "Any value of `workspace_labels` needs the entitlement; with it, an unrecognized value yields empty results.";

/** `GET /v3/ip/{ip}`: the full context of an address. API, operation 4. */
export const getIp = defineOperation({
  id: "getIP",
  isLookup: true,
  method: "GET",
  path: "/v3/ip/{ip}",
  group: "Addresses",
  summary: "The full context of an address",
  description: `The response for an unknown address has the same members, all empty, and also counts as a lookup. ${SCOPES}`,
  pathParameters: { ip: ADDRESS },
  queryParameters: [QUICK, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "The context, in the full or the short form.",
    schema: z.union([
      fullContextSchema.extend({ request_metadata: requestMetadataSchema }).meta({ id: "AddressAnswer" }),
      quickContextSchema.extend({ request_metadata: requestMetadataSchema }).meta({ id: "QuickAnswer" }),
    ]),
    example: { ...EXAMPLE_CONTEXT, request_metadata: REQUEST_METADATA },
    headers: LIMIT_HEADERS,
  },
  errorResponses: { 400: BAD_ADDRESS, 403: NOT_ENTITLED, 429: TOO_MANY_LOOKUPS },
});

/** `POST /v3/ip`: the full contexts of up to 10,000 addresses. API, operation 5. */
export const getIps = defineOperation({
  id: "getIPBatch",
  method: "POST",
  path: "/v3/ip",
  group: "Addresses",
  summary: "The full contexts of many addresses",
  description: `Each distinct text of the request is in the response once, unchanged, as found or not found. Counts one lookup for each distinct routable address; if fewer are left, the request fails and counts none. ${SCOPES}`,
  pathParameters: {},
  queryParameters: [QUICK, WORKSPACE_LABELS],
  body: ADDRESSES_BODY,
  success: {
    status: 200,
    description: "The contexts of the addresses found, in the order of the request, and the list of all others.",
    schema: z
      .strictObject({
        data: z.union([z.array(fullContextSchema), z.array(quickContextSchema)]),
        request_metadata: requestMetadataSchema.extend({ message: z.string(), ips_not_found: texts }),
      })
      .meta({ id: "AddressBatch" }),
    example: {
      data: [EXAMPLE_CONTEXT],
      request_metadata: { ...REQUEST_METADATA, message: "", ips_not_found: ["8.8.8.8"] },
    },
    headers: LIMIT_HEADERS,
  },
  errorResponses: { ...BODY_ERROR_RESPONSES, 403: NOT_ENTITLED, 429: TOO_MANY_LOOKUPS },
});

export function registerIp(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(getIp, async (request, reply, deadline) => {
    const caller = deps.authenticate(request);
    const ip = readPath(request.params.ip, ADDRESS);
    const quick = readParameter(request.query, QUICK);
    const scopes = readScopes("ip", request.query, caller);
    const readContext = () =>
      app.admission.run(request, FULL_CONTEXT_COST, deadline.signal, async () => {
        const contexts = await readContexts([ip], scopes, !quick, deps, deadline.signal);
        return contexts.get(ip) ?? {};
      });
    const read = async () => {
      if (!quick) return toFullContext(ip, await readContext(), deps.catalogue, namedSensorScopes(caller));
      // Lookups of single addresses skip admission, so they never wait behind large requests.
      return toQuickContext(ip, await (isGlobalOnly(scopes) ? deps.lookUp(ip) : readContext()));
    };
    const context = await deps.countLookups({ request, reply, caller, lookups: 1, deadline }, read);
    return { ...context, request_metadata: REQUEST_METADATA };
  });

  app.implement(
    getIps,
    async (request, reply, deadline, { toJsonArray }) => {
      const caller = deps.authenticate(request);
      const ips = readAddresses(request.body);
      const quick = readParameter(request.query, QUICK);
      const scopes = readScopes("ip", request.query, caller);
      const sent = textsByAddress(ips);
      const found = new Set<string>();
      const routable = [...sent.keys()];
      const read = () => {
        if (quick) {
          const summaries = asSent(streamSummaries(routable, scopes, deps, deadline.signal), sent);
          return toJsonArray(mapContexts(onlyFound(summaries, found), toQuickContext));
        }
        const contexts = onlyFound(asSent(streamContexts(routable, scopes, true, deps, deadline.signal), sent), found);
        const named = namedSensorScopes(caller);
        return toJsonArray(mapContexts(contexts, (ip, context) => toFullContext(ip, context, deps.catalogue, named)));
      };
      const data = await deps.countLookups({ request, reply, caller, lookups: routable.length, deadline }, () =>
        app.admission.run(request, bulkCost(routable.length, quick), deadline.signal, read),
      );
      const notFound = [...new Set(ips)].filter((ip) => !found.has(ip));
      return { data, request_metadata: { ...REQUEST_METADATA, message: "", ips_not_found: notFound } };
    },
    { ...ADDRESSES_ROUTE, preParsing: rejectUnread(app, deps.authenticate) },
  );
}

type Contexts<Context> = AsyncIterable<readonly [ip: string, context: Context]>;

/** Yields the contexts with noise or riot, and adds their addresses to `found`. */
async function* onlyFound<Context extends AddressSummary>(
  contexts: Contexts<Context>,
  found: Set<string>,
): AsyncGenerator<readonly [string, Context]> {
  for await (const entry of contexts) {
    const [ip, { noise, riot }] = entry;
    if (noise === undefined && riot === undefined) continue;
    found.add(ip);
    yield entry;
  }
}

async function* mapContexts<Context, T>(
  contexts: Contexts<Context>,
  map: (ip: string, context: Context) => T,
): AsyncGenerator<T> {
  for await (const [ip, context] of contexts) yield map(ip, context);
}
