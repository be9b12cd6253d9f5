import { z } from "zod";
import { sentAddress } from "../address/schema.ts";
import { classification, count, date, ip, texts } from "../wire.ts";

const fingerprints = z.array(z.strictObject({ fingerprint: z.string(), port: count }));

/** API, section 7: the v2 context. Every member is always present: clients read `metadata.city` without a check. */
export const seenSchema = z
  .strictObject({
    ip: sentAddress,
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
    tags: texts.describe("The names of the tags."),
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
  })
  .meta({ id: "LegacySeenAddress" });
export type SeenAddress = z.input<typeof seenSchema>;

export const contextSchema = z
  .union([z.strictObject({ ip, seen: z.literal(false) }).meta({ id: "LegacyUnseenAddress" }), seenSchema])
  .meta({
    id: "LegacyContext",
  });

export const EXAMPLE_SEEN: SeenAddress = {
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
