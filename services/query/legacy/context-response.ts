import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { AddressDetails } from "../address/details-query.ts";
import type { AddressContext } from "../address/read-contexts.ts";
import { countryName, NO_CONTACT, toFullContext } from "../address/response.ts";
import type { SeenAddress } from "./context-schema.ts";

/** The v2 context of an address; undefined when it was not observed. */
export function toSeenAddress(
  ip: string,
  context: AddressContext | undefined,
  catalogue: TagCatalogue,
): SeenAddress | undefined {
  if (context === undefined) return undefined;
  const { noise, details = NO_DETAILS } = context;
  if (noise === undefined) return undefined;
  const scanner = toFullContext(ip, context, catalogue, []).internet_scanner_intelligence;
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

/** For observations that expire between the query that finds the address and the query for its details. */
const NO_DETAILS: Omit<AddressDetails, "ip" | "first_seen"> = {
  sensors: 0,
  hits: 0,
  ports: [],
  methods: [],
  paths: [],
  user_agents: [],
  headers: [],
  cookies: [],
  ja3: [],
  ja4: [],
  hassh: [],
  asn: 0,
  organization: "",
  country: "",
  region: "",
  city: "",
  coordinates: [0, 0],
  named: ["", false],
  contact: NO_CONTACT,
};

function toMetadata(details: typeof NO_DETAILS): SeenAddress["metadata"] {
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
    region: details.region,
    rdns: details.named[0],
    os: "",
    tor: false,
    sensor_count: details.sensors,
    sensor_hits: details.hits,
    destination_countries: [],
    destination_country_codes: [],
  };
}

function toRawData(details: typeof NO_DETAILS): SeenAddress["raw_data"] {
  return {
    scan: details.ports.map(([port, protocol]) => ({ port, protocol: protocol.toUpperCase() })),
    web: { paths: details.paths, useragents: details.user_agents },
    ja3: details.ja3.map(([fingerprint, port]) => ({ fingerprint, port })),
    hassh: details.hassh.map(([fingerprint, port]) => ({ fingerprint, port })),
  };
}
