import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";
import { isRoutableIpv4 } from "@noisefloor/domain/ipv4.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/scope.ts";
import { defineOperation, registerOperation } from "@noisefloor/http/operation.ts";
import { readPath } from "@noisefloor/http/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { AddressDetails } from "../address/details-query.ts";
import { type AddressContext, readContexts, streamContexts } from "../address/read-contexts.ts";
import { countryName, toFullContext } from "../address/response.ts";
import type { LookupDeps } from "../address/store-lookup.ts";
import type { Authenticate } from "../auth.ts";
import { bulkCost, FULL_CONTEXT_COST } from "../costs.ts";
import { ADDRESS } from "../parameters.ts";
import { type CountLookups, LIMIT_HEADERS, TOO_MANY_LOOKUPS } from "../rate-limit/count-lookups.ts";
import { rejectUnread } from "../reject-unread.ts";
import { ADDRESSES_BODY, ADDRESSES_ROUTE, BODY_ERROR_RESPONSES, readAddresses } from "../request-body.ts";
import { BAD_ADDRESS, classification, count, date, ip, texts } from "../wire.ts";
import { LEGACY } from "./schema.ts";

const fingerprints = z.array(z.strictObject({ fingerprint: z.string(), port: count }));

/** Every member is in every answer: clients read `metadata.city` and `raw_data.web` without a check. */
const seenSchema = z.strictObject({
  ip,
  seen: z.literal(true),
  first_seen: date,
  last_seen: date,
  actor: z.string(),
  classification,
  spoofable: z.boolean(),
  bot: z.boolean(),
  vpn: z.boolean(),
  vpn_service: z.string(),
  tor: z.boolean(),
  tags: texts.describe("Names."),
  cve: texts,
  metadata: z.strictObject({
    asn: z.string(),
    organization: z.string(),
    category: z.string(),
    city: z.string(),
    country: z.string(),
    country_code: z.string(),
    source_country: z.string().describe("The same as `country`."),
    source_country_code: z.string().describe("The same as `country_code`."),
    region: z.string(),
    rdns: z.string(),
    os: z.string(),
    tor: z.boolean(),
    sensor_count: count.describe("Distinct sensors."),
    sensor_hits: count.describe("Observations."),
    destination_countries: texts,
    destination_country_codes: texts,
  }),
  raw_data: z.strictObject({
    scan: z.array(z.strictObject({ port: count, protocol: z.string().describe("In capitals.") })),
    web: z.strictObject({ paths: texts, useragents: texts }),
    ja3: fingerprints,
    hassh: fingerprints,
  }),
});
type Seen = z.input<typeof seenSchema>;

const contextSchema = z.union([z.strictObject({ ip, seen: z.literal(false) }), seenSchema]).meta({
  id: "LegacyContext",
});

const EXAMPLE: Seen = {
  ip: "192.175.48.6",
  seen: true,
  first_seen: "2026-09-14",
  last_seen: "2026-11-20",
  actor: "unknown",
  classification: "malicious",
  spoofable: false,
  bot: false,
  vpn: false,
  vpn_service: "",
  tor: false,
  tags: ["SSH Scanner"],
  cve: [],
  metadata: {
    asn: "AS64500",
    organization: "Example Telecom",
    category: "",
    city: "Ho Chi Minh City",
    country: "Vietnam",
    country_code: "VN",
    source_country: "Vietnam",
    source_country_code: "VN",
    region: "",
    rdns: "",
    os: "",
    tor: false,
    sensor_count: 7,
    sensor_hits: 239_018,
    destination_countries: [],
    destination_country_codes: [],
  },
  raw_data: { scan: [{ port: 22, protocol: "TCP" }], web: { paths: [], useragents: [] }, ja3: [], hassh: [] },
};

const context = defineOperation({
  ...LEGACY,
  id: "legacyContext",
  method: "GET",
  path: "/v2/noise/context/{ip}",
  summary: "What is known of a scanner, in a flat form",
  pathParameters: { ip: ADDRESS },
  success: {
    status: 200,
    description: "What is known, or that it was never seen.",
    schema: contextSchema,
    example: EXAMPLE,
    headers: LIMIT_HEADERS,
  },
  refusals: { 400: BAD_ADDRESS, 429: TOO_MANY_LOOKUPS },
});

const multiContext = defineOperation({
  ...LEGACY,
  id: "legacyMultiContext",
  method: "POST",
  path: "/v2/noise/multi/context",
  summary: "The same for many addresses",
  pathParameters: {},
  body: ADDRESSES_BODY,
  success: {
    status: 200,
    description: "What is known of those that were seen, in the order they were sent, each once.",
    schema: z.strictObject({ message: z.literal("ok"), data: z.array(seenSchema) }),
    example: { message: "ok", data: [EXAMPLE] },
    headers: LIMIT_HEADERS,
  },
  refusals: { ...BODY_ERROR_RESPONSES, 429: TOO_MANY_LOOKUPS },
});

export const CONTEXT_OPERATIONS = [context, multiContext];

export type LegacyContextDeps = LookupDeps & {
  readonly catalogue: TagCatalogue;
  readonly authenticate: Authenticate;
  readonly countLookups: CountLookups;
};

export function registerLegacyContext(app: FastifyInstance, deps: LegacyContextDeps): void {
  registerOperation(app, context, async (request, reply, signal) => {
    const caller = deps.authenticate(request);
    const ip = readPath(request.params.ip, ADDRESS);
    const known = await deps.countLookups({ request, reply, caller, lookups: 1, signal }, () =>
      app.admission.run(request, FULL_CONTEXT_COST, signal, () =>
        readContexts([ip], [GLOBAL_SCOPE], true, deps, signal),
      ),
    );
    return toSeen(ip, known.get(ip), deps.catalogue) ?? { ip, seen: false as const };
  });

  registerOperation(
    app,
    multiContext,
    async (request, reply, signal, toJsonArray) => {
      const caller = deps.authenticate(request);
      const valid = [...new Set(readAddresses(request.body))].filter(isRoutableIpv4);
      const data = await deps.countLookups({ request, reply, caller, lookups: valid.length, signal }, () =>
        app.admission.run(request, bulkCost(valid.length, false), signal, () =>
          toJsonArray(toSeenOnly(streamContexts(valid, [GLOBAL_SCOPE], true, deps, signal), deps.catalogue)),
        ),
      );
      return { message: "ok" as const, data };
    },
    { ...ADDRESSES_ROUTE, preParsing: rejectUnread(app, deps.authenticate) },
  );
}

async function* toSeenOnly(
  contexts: AsyncIterable<readonly [ip: string, context: AddressContext]>,
  catalogue: TagCatalogue,
): AsyncGenerator<Seen> {
  for await (const [ip, context] of contexts) {
    const seen = toSeen(ip, context, catalogue);
    if (seen !== undefined) yield seen;
  }
}

/** Undefined for an address that was not observed. */
function toSeen(ip: string, known: AddressContext | undefined, catalogue: TagCatalogue): Seen | undefined {
  if (known === undefined) return undefined;
  const { noise, details = NO_DETAILS } = known;
  if (noise === undefined) return undefined;
  const scanner = toFullContext(ip, known, catalogue).internet_scanner_intelligence;
  return {
    ip,
    seen: true,
    first_seen: scanner.first_seen,
    last_seen: scanner.last_seen,
    actor: scanner.actor,
    classification: noise.classification,
    spoofable: scanner.spoofable,
    bot: scanner.bot,
    vpn: scanner.vpn,
    vpn_service: scanner.vpn_service,
    tor: scanner.tor,
    tags: scanner.tags.map(({ name }) => name),
    cve: scanner.cves,
    metadata: toMetadata(details),
    raw_data: toRawData(details),
  };
}

/** The observations may be deleted between the query that found the address and the one that reads them. */
const NO_DETAILS: AddressDetails = {
  ip: "",
  sensors: 0,
  hits: 0,
  ports: [],
  methods: [],
  paths: [],
  user_agents: [],
  ja3: [],
  ja4: [],
  hassh: [],
  asn: 0,
  organization: "",
  country: "",
  city: "",
  rdns: "",
};

function toMetadata(details: AddressDetails): Seen["metadata"] {
  const country = countryName(details.country);
  return {
    asn: details.asn === 0 ? "" : `AS${details.asn}`,
    organization: details.organization,
    category: "",
    city: details.city,
    country,
    country_code: details.country,
    source_country: country,
    source_country_code: details.country,
    region: "",
    rdns: details.rdns,
    os: "",
    tor: false,
    sensor_count: details.sensors,
    sensor_hits: details.hits,
    destination_countries: [],
    destination_country_codes: [],
  };
}

function toRawData(details: AddressDetails): Seen["raw_data"] {
  return {
    scan: details.ports.map(([port, protocol]) => ({ port, protocol: protocol.toUpperCase() })),
    web: { paths: details.paths, useragents: details.user_agents },
    ja3: details.ja3.map(([fingerprint, port]) => ({ fingerprint, port })),
    hassh: details.hassh.map(([fingerprint, port]) => ({ fingerprint, port })),
  };
}
