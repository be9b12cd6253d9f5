import { PROOFS } from "@noisefloor/domain/tags/contact.ts";
import { z } from "zod";
import { classification, count, date, none, texts, timestamp, uuid } from "../wire.ts";

/** API, operation 4: the full context of an address. Members without a data source are always present and empty. */

const serviceSchema = z
  .strictObject({
    found: z.boolean(),
    category: z.string(),
    name: z.string(),
    description: z.string(),
    explanation: z.string(),
    last_updated: timestamp.or(none),
    reference: z.string(),
    trust_level: z.string(),
  })
  .meta({ id: "BusinessService", description: "The benign service in whose networks the address is." });

export const contextTagSchema = z
  .strictObject({
    id: uuid,
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    category: z.string(),
    intention: classification,
    references: texts,
    cves: texts,
    recommend_block: z.boolean(),
    created: date,
    created_at: date.describe(
      "Since when this catalogue has it, twice: for a starter tag, the day of its installation.",
    ),
    updated_at: timestamp,
  })
  .meta({ id: "ContextTag" });

export const metadataSchema = z
  .strictObject({
    asn: z.string().regex(/^(?:AS\d+)?$/),
    source_country: z.string(),
    source_country_code: z.string(),
    source_city: z.string(),
    domain: z.string(),
    rdns_parent: z.string(),
    rdns_validated: z.boolean(),
    organization: z.string(),
    category: z.string(),
    rdns: z.string(),
    os: z.string(),
    sensor_count: count.describe("Distinct sensors."),
    sensor_hits: count.describe("Distinct observations."),
    region: z.string().describe("Of the source, as is the city."),
    mobile: z.boolean(),
    single_destination: z.boolean(),
    destination_countries: texts,
    destination_country_codes: texts,
    destination_asns: texts,
    destination_cities: texts,
    carrier: z.string(),
    datacenter: z.string(),
    longitude: z.number().optional().describe("Degrees east. Where the place is unknown, both members are missing."),
    latitude: z.number().optional().describe("Degrees north."),
  })
  .meta({ id: "ScannerMetadata" });

/** The port is 0 where the sensor reported none. */
const fingerprints = z.array(z.strictObject({ fingerprint: z.string(), port: count }));

export const rawDataSchema = z
  .strictObject({
    scan: z.array(z.strictObject({ port: count, protocol: z.string() })),
    ja3: fingerprints,
    hassh: fingerprints,
    http: z.strictObject({
      md5: texts,
      cookie_keys: texts.describe("The names of the cookies sent."),
      request_authorization: texts,
      request_cookies: texts,
      request_header: texts.describe("The names of the header fields sent."),
      method: texts,
      path: texts,
      request_origin: texts,
      useragent: texts,
    }),
    source: z.strictObject({ bytes: count }),
    tls: z.strictObject({ cipher: texts, ja4: texts }),
    ssh: z.strictObject({ key: texts }),
  })
  .meta({ id: "ScannerRawData" });

const nothing = z.strictObject({});

export const sentAddress = z.string().describe("As it was sent, where many were; else in dotted decimal.");

/** Empty of an address that could be forged. */
export const contactSchema = z
  .strictObject({
    observed_at: timestamp.or(none),
    by: z
      .enum(PROOFS)
      .or(none)
      .describe(
        "What it did there: logged in, typed a `command`, made the sensor `download` or left a file, sent a `request`, a `tls` hello or an `ssh` banner, or no more than to complete the `connection`.",
      ),
    destination_port: count.describe("0 where the sensor reported none."),
    sensor: z.string().describe("Empty where the caller may not know it."),
  })
  .meta({
    id: "ProvenContact",
    description: "The latest observation that proves that the address receives what is sent to it.",
  });

/** Members that the scanner part of /v3 shares with the flat form of /v2. */
export const scannerShape = {
  first_seen: date.or(none),
  last_seen: date.or(none),
  actor: z.string(),
  spoofable: z
    .boolean()
    .describe("Whether it could be forged: no observation shows that it received what was sent to it."),
  classification: classification.or(none),
  bot: z.boolean(),
  vpn: z.boolean(),
  vpn_service: z.string(),
  tor: z.boolean(),
  metadata: metadataSchema.or(nothing),
  raw_data: rawDataSchema.or(nothing),
  last_seen_timestamp: z
    .string()
    .regex(/^(?:\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})?$/)
    .describe("`YYYY-MM-DD HH:MM:SS` in UTC."),
};

export const scannerSchema = z
  .strictObject({
    ...scannerShape,
    found: z.boolean(),
    contact: contactSchema,
    tags: z.array(contextTagSchema),
    cves: texts,
  })
  .meta({ id: "InternetScanner", description: "The scanning seen from the address." });

export const fullContextSchema = z
  .strictObject({
    ip: sentAddress,
    business_service_intelligence: serviceSchema,
    internet_scanner_intelligence: scannerSchema,
  })
  .meta({ id: "AddressContext" });

export const quickContextSchema = z
  .strictObject({
    ip: sentAddress,
    business_service_intelligence: z.strictObject({ found: z.boolean(), trust_level: z.string() }),
    internet_scanner_intelligence: z.strictObject({ found: z.boolean(), classification: classification.or(none) }),
  })
  .meta({ id: "QuickContext" });

/** Always empty, as no plan restricts fields, but clients read the member. */
export const requestMetadataSchema = z.strictObject({ restricted_fields: texts });

export const EXAMPLE_SCANNER = {
  first_seen: "2026-09-14",
  last_seen: "2026-11-20",
  actor: "unknown",
  spoofable: false,
  classification: "malicious",
  bot: false,
  vpn: false,
  vpn_service: "",
  tor: false,
  metadata: {},
  raw_data: {},
  last_seen_timestamp: "2026-11-20 17:01:34",
} as const;

export const EXAMPLE_CONTACT = {
  observed_at: "2026-11-20T17:01:30Z",
  by: "login",
  destination_port: 22,
  sensor: "",
} as const;

export const EXAMPLE_CONTEXT = {
  ip: "192.175.48.6",
  business_service_intelligence: {
    found: false,
    category: "",
    name: "",
    description: "",
    explanation: "",
    last_updated: "",
    reference: "",
    trust_level: "",
  },
  internet_scanner_intelligence: { ...EXAMPLE_SCANNER, found: true, contact: EXAMPLE_CONTACT, tags: [], cves: [] },
} as const;
