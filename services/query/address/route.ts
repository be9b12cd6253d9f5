import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";
import { isRoutableIpv4 } from "@noisefloor/domain/ipv4.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/scope.ts";
import { defineOperation, registerOperation } from "@noisefloor/http/operation.ts";
import { boolean, readParameter, readPath } from "@noisefloor/http/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Authenticate } from "../auth.ts";
import { bulkCost, FULL_CONTEXT_COST } from "../costs.ts";
import { ADDRESS, WORKSPACE_LABELS } from "../parameters.ts";
import { type CountLookups, LIMIT_HEADERS, TOO_MANY_LOOKUPS } from "../rate-limit/count-lookups.ts";
import { rejectUnread } from "../reject-unread.ts";
import { ADDRESSES_BODY, ADDRESSES_ROUTE, BODY_REFUSALS, readAddresses } from "../request-body.ts";
import { readScopes } from "../scopes.ts";
import { BAD_ADDRESS, NOT_ENTITLED, texts } from "../wire.ts";
import { REQUEST_METADATA, toFullContext, toQuickContext } from "./answer.ts";
import { type AddressContext, addressContexts, readContexts } from "./contexts.ts";
import type { LookUpAddress, LookupDeps } from "./lookup.ts";
import { EXAMPLE_CONTEXT, fullContextSchema, quickContextSchema, requestMetadataSchema } from "./schema.ts";

/** One SDK writes Python's booleans. */
const QUICK = boolean({
  name: "quick",
  description: "Whether the short form will do: is it anything, and what sort.",
  alsoTrue: ["True"],
  alsoFalse: ["False"],
});

const SCOPES_HERE =
  "Any value of `workspace_labels` needs the entitlement; with it, one that is not recognized yields empty results.";

/** `GET /v3/ip/{ip}`: everything known of one address. API, operation 4. */
export const getIp = defineOperation({
  id: "getIP",
  method: "GET",
  path: "/v3/ip/{ip}",
  group: "Addresses",
  summary: "Everything known of an address",
  description: `An address of which nothing is known is answered with every member there, empty, and counts as a lookup. ${SCOPES_HERE}`,
  pathParameters: { ip: ADDRESS },
  queryParameters: [QUICK, WORKSPACE_LABELS],
  success: {
    status: 200,
    description: "What is known, in the full form or the short one.",
    schema: z.union([
      fullContextSchema.extend({ request_metadata: requestMetadataSchema }),
      quickContextSchema.extend({ request_metadata: requestMetadataSchema }),
    ]),
    example: { ...EXAMPLE_CONTEXT, request_metadata: REQUEST_METADATA },
    headers: LIMIT_HEADERS,
  },
  refusals: { 400: BAD_ADDRESS, 403: NOT_ENTITLED, 429: TOO_MANY_LOOKUPS },
});

/** `POST /v3/ip`: everything known of up to 10,000 addresses. API, operation 5. */
export const getIps = defineOperation({
  id: "getIPs",
  method: "POST",
  path: "/v3/ip",
  group: "Addresses",
  summary: "Everything known of many addresses",
  description: `Each text that was sent is in the answer once, as it was sent: found, or not found. Counts one lookup for each distinct routable address, all of them or, when fewer are left, none. ${SCOPES_HERE}`,
  pathParameters: {},
  queryParameters: [QUICK, WORKSPACE_LABELS],
  body: ADDRESSES_BODY,
  success: {
    status: 200,
    description: "What is known of those that are found, in the order they were sent, and all others by name.",
    schema: z.strictObject({
      data: z.union([z.array(fullContextSchema), z.array(quickContextSchema)]),
      request_metadata: requestMetadataSchema.extend({ message: z.string(), ips_not_found: texts }),
    }),
    example: {
      data: [EXAMPLE_CONTEXT],
      request_metadata: { ...REQUEST_METADATA, message: "", ips_not_found: ["8.8.8.8"] },
    },
    headers: LIMIT_HEADERS,
  },
  refusals: { ...BODY_REFUSALS, 403: NOT_ENTITLED, 429: TOO_MANY_LOOKUPS },
});

export type IpDeps = LookupDeps & {
  readonly catalogue: TagCatalogue;
  readonly authenticate: Authenticate;
  readonly countLookups: CountLookups;
  /** In the global dataset alone. */
  readonly lookUp: LookUpAddress;
};

export function registerIp(app: FastifyInstance, deps: IpDeps): void {
  registerOperation(app, getIp, async (request, reply, signal) => {
    const caller = deps.authenticate(request);
    const ip = readPath(request.params.ip, ADDRESS);
    const quick = readParameter(request.query, QUICK);
    const scopes = readScopes("ip", request.query, caller);
    const readContext = () =>
      app.admission.run(request, FULL_CONTEXT_COST, signal, async () => {
        const contexts = await addressContexts([ip], scopes, !quick, deps, signal);
        return contexts.get(ip) ?? {};
      });
    const read = async () => {
      if (!quick) return toFullContext(ip, await readContext(), deps.catalogue);
      const isGlobal = scopes.length === 1 && scopes[0]?.dataset === GLOBAL_SCOPE.dataset;
      // A single lookup never waits behind large questions.
      return toQuickContext(ip, await (isGlobal ? deps.lookUp(ip) : readContext()));
    };
    const answer = await deps.countLookups({ request, reply, caller, lookups: 1, signal }, read);
    return { ...answer, request_metadata: REQUEST_METADATA };
  });

  registerOperation(
    app,
    getIps,
    async (request, reply, signal, toJsonArray) => {
      const caller = deps.authenticate(request);
      const ips = readAddresses(request.body);
      const quick = readParameter(request.query, QUICK);
      const scopes = readScopes("ip", request.query, caller);
      // Clients find their own strings again in the answer, byte for byte, each once.
      const asked = [...new Set(ips)];
      const found = new Set<string>();
      const routable = asked.filter(isRoutableIpv4);
      const answer = () => {
        const contexts = noteFound(readContexts(routable, scopes, !quick, deps, signal), found);
        return quick
          ? toJsonArray(shape(contexts, toQuickContext))
          : toJsonArray(shape(contexts, (ip, context) => toFullContext(ip, context, deps.catalogue)));
      };
      const data = await deps.countLookups({ request, reply, caller, lookups: routable.length, signal }, () =>
        app.admission.run(request, bulkCost(routable.length, quick), signal, answer),
      );
      const notFound = asked.filter((ip) => !found.has(ip));
      return { data, request_metadata: { ...REQUEST_METADATA, message: "", ips_not_found: notFound } };
    },
    { ...ADDRESSES_ROUTE, preParsing: rejectUnread(app, deps.authenticate) },
  );
}

type Contexts = AsyncIterable<readonly [ip: string, context: AddressContext]>;

/** Those of which something is known, and whose they are. */
async function* noteFound(contexts: Contexts, found: Set<string>): AsyncGenerator<readonly [string, AddressContext]> {
  for await (const one of contexts) {
    const [ip, { noise, riot }] = one;
    if (noise === undefined && riot === undefined) continue;
    found.add(ip);
    yield one;
  }
}

async function* shape<T>(contexts: Contexts, toAnswer: (ip: string, context: AddressContext) => T): AsyncGenerator<T> {
  for await (const [ip, context] of contexts) yield toAnswer(ip, context);
}
