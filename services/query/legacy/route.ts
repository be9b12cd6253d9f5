import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { isRoutableIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { plainIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { DAY_MS, formatDate, formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { type Parameter, readParameter, readPath } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { streamSummaries } from "../address/read-contexts.ts";
import type { AddressSummary, RiotRecord } from "../address/records.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { bulkCost } from "../costs.ts";
import { ADDRESS } from "../parameters.ts";
import type { RequestedLookups } from "../rate-limit/count-lookups.ts";
import { rejectUnread } from "../reject-unread.ts";
import {
  ADDRESSES_BODY,
  ADDRESSES_ROUTE,
  asSent,
  BODY_ERROR_RESPONSES,
  MAX_ADDRESSES,
  readAddresses,
  textsByAddress,
} from "../request-body.ts";
import { EXAMPLE_TAG, toWireTag, wireTagSchema } from "../tags/wire-tag.ts";
import { BAD_ADDRESS, LIMIT_HEADERS, TOO_MANY_LOOKUPS } from "../wire.ts";
import { CONTEXT_OPERATIONS, registerLegacyContext } from "./context-route.ts";
import { EXAMPLE_PING, EXAMPLE_QUICK, EXAMPLE_RIOT, LEGACY, pingSchema, quickSchema, riotSchema } from "./schema.ts";

const ANY_STRING = {
  schema: z.string(),
  description: "An address. The code for any other text is 0x07.",
  errorMessage: "Invalid parameter: ip",
  example: "192.175.48.6",
};

const IPS: Parameter<readonly string[]> = {
  name: "ips",
  description: "The addresses.",
  takes: `1 to ${MAX_ADDRESSES} addresses, separated by commas`,
  schema: z
    .string()
    .regex(/[^\s,]/)
    .transform((text) =>
      text
        .split(",")
        .map((ip) => ip.trim())
        .filter((ip) => ip !== ""),
    )
    .pipe(z.array(z.string()).min(1).max(MAX_ADDRESSES)),
  describedBy: "input",
  example: "192.175.48.6,8.8.8.8",
};

const ping = defineOperation({
  ...LEGACY,
  id: "ping",
  method: "GET",
  path: "/ping",
  summary: "Whether a key is valid",
  description: "401 without a valid key.",
  pathParameters: {},
  success: { status: 200, description: "The key is valid.", schema: pingSchema, example: EXAMPLE_PING },
  errorResponses: {},
});

/** The same under the path of the earlier version. */
const metaPing = defineOperation({ ...ping, id: "legacyPing", path: "/v2/meta/ping" });

const quick = defineOperation({
  ...LEGACY,
  id: "legacyQuick",
  isLookup: true,
  method: "GET",
  path: "/v2/noise/quick/{ip}",
  summary: "Noise and riot of an address, as a code",
  pathParameters: { ip: ANY_STRING },
  success: {
    status: 200,
    description: "The code.",
    schema: quickSchema,
    example: EXAMPLE_QUICK,
    headers: LIMIT_HEADERS,
  },
  errorResponses: { 429: TOO_MANY_LOOKUPS },
});

const multiQuick = defineOperation({
  ...LEGACY,
  id: "legacyMultiQuick",
  method: "POST",
  path: "/v2/noise/multi/quick",
  summary: "Noise and riot of many addresses, as codes",
  pathParameters: {},
  body: ADDRESSES_BODY,
  success: {
    status: 200,
    description: "The codes.",
    schema: z.array(quickSchema),
    example: [EXAMPLE_QUICK],
    headers: LIMIT_HEADERS,
  },
  errorResponses: { ...BODY_ERROR_RESPONSES, 429: TOO_MANY_LOOKUPS },
});

/** `GET` of the same path, as older clients ask. */
const multiQuickByQuery = defineOperation({
  ...LEGACY,
  id: "legacyMultiQuickByQuery",
  method: "GET",
  path: "/v2/noise/multi/quick",
  summary: "Noise and riot of some addresses, as codes",
  description: "For more addresses than fit into a URL, use POST.",
  pathParameters: {},
  queryParameters: [IPS],
  success: multiQuick.success,
  errorResponses: {
    400: errorResponse("There are no addresses.", `Invalid parameter: ips takes ${IPS.takes}`),
    429: TOO_MANY_LOOKUPS,
  },
});

const riot = defineOperation({
  ...LEGACY,
  id: "legacyRiot",
  isLookup: true,
  method: "GET",
  path: "/v2/riot/{ip}",
  summary: "The benign service to which an address belongs",
  pathParameters: { ip: ADDRESS },
  success: {
    status: 200,
    description: "The service, or `riot: false`.",
    schema: riotSchema,
    example: EXAMPLE_RIOT,
    headers: LIMIT_HEADERS,
  },
  errorResponses: { 400: BAD_ADDRESS, 429: TOO_MANY_LOOKUPS },
});

const metadata = defineOperation({
  ...LEGACY,
  id: "legacyMetadata",
  method: "GET",
  path: "/v2/meta/metadata",
  summary: "All tags",
  pathParameters: {},
  success: {
    status: 200,
    description: "The tags.",
    schema: z.strictObject({ metadata: z.array(wireTagSchema) }).meta({ id: "LegacyMetadata" }),
    example: { metadata: [EXAMPLE_TAG] },
  },
  errorResponses: {},
});

export const LEGACY_OPERATIONS = [
  ping,
  metaPing,
  quick,
  multiQuick,
  multiQuickByQuery,
  riot,
  ...CONTEXT_OPERATIONS,
  metadata,
];

/** Keys do not expire, but clients check that this date is in the future. */
const EXPIRATION_DAYS = 365;

export function registerLegacy(app: FastifyInstance, deps: RouteDeps): void {
  for (const operation of [ping, metaPing]) {
    app.implement(operation, async (request) => {
      const { plan, workspaceId } = deps.authenticate(request);
      if (workspaceId === undefined) throw new HttpError(401, "Unauthorized");
      return toPing(request.ip, plan, deps.now());
    });
  }

  app.implement(quick, async (request, reply, deadline) => {
    const caller = deps.authenticate(request);
    const { ip } = request.params;
    const address = plainIpv4(ip);
    const isAddress = isRoutableIpv4(address);
    const record = await deps.countLookups(
      { request, reply, caller, lookups: isAddress ? 1 : 0, deadline },
      async () => (isAddress ? deps.lookUp(address) : undefined),
    );
    return toQuick(ip, record);
  });

  const lookUpMany = async (ips: readonly string[], call: Omit<RequestedLookups, "lookups">) => {
    const sent = textsByAddress(ips);
    const valid = [...sent.keys()];
    const { request, deadline } = call;
    const summaryOf = await deps.countLookups({ ...call, lookups: valid.length }, () =>
      app.admission.run(request, bulkCost(valid.length, true), deadline.signal, async () => {
        const found = new Map<string, AddressSummary>();
        const summaries = streamSummaries(valid, [GLOBAL_SCOPE], deps, deadline.signal);
        for await (const [text, summary] of asSent(summaries, sent)) found.set(text, summary);
        return found;
      }),
    );
    return [...new Set(ips)].map((text) => toQuick(text, summaryOf.get(text)));
  };

  app.implement(
    multiQuick,
    async (request, reply, deadline) => {
      const caller = deps.authenticate(request);
      return lookUpMany(readAddresses(request.body), { request, reply, caller, deadline });
    },
    { ...ADDRESSES_ROUTE, preParsing: rejectUnread(app, deps.authenticate) },
  );

  app.implement(multiQuickByQuery, async (request, reply, deadline) => {
    const caller = deps.authenticate(request);
    return lookUpMany(readParameter(request.query, IPS), { request, reply, caller, deadline });
  });

  app.implement(riot, async (request, reply, deadline) => {
    const caller = deps.authenticate(request);
    const ip = readPath(request.params.ip, ADDRESS);
    const record = await deps.countLookups({ request, reply, caller, lookups: 1, deadline }, () => deps.lookUp(ip));
    return toRiot(ip, record.riot);
  });

  registerLegacyContext(app, deps);

  app.implement(
    metadata,
    async (request) => {
      deps.authenticate(request);
      return { metadata: deps.catalogue.all().map((tag) => toWireTag(tag, deps.catalogue)) };
    },
    { hasEtag: true },
  );
}

function toQuick(ip: string, record: AddressSummary | undefined): z.input<typeof quickSchema> {
  const noise = record?.noise !== undefined;
  const riot = record?.riot !== undefined;
  return { ip, noise, riot, code: record === undefined ? "0x07" : codeOf(record) };
}

function codeOf({ noise, riot }: AddressSummary): z.input<typeof quickSchema>["code"] {
  if (noise === undefined) return riot === undefined ? "0x00" : "0x09";
  if (riot !== undefined) return "0x10";
  return noise.isSpoofable ? "0x02" : "0x01";
}

function toPing(address: string, plan: string, now: number): z.input<typeof pingSchema> {
  const expiration = formatDate(now + EXPIRATION_DAYS * DAY_MS);
  return { message: "pong", expiration, offering: "enterprise", address, plan, modules: "" };
}

function toRiot(ip: string, record: RiotRecord | undefined): z.input<typeof riotSchema> {
  if (record === undefined) return { ip, riot: false };
  const { category, name, description, explanation, refreshedAt, reference, trustLevel } = record;
  const service = { category, name, description, explanation, reference };
  return { ip, riot: true, ...service, last_updated: formatTimestamp(refreshedAt), trust_level: trustLevel };
}
