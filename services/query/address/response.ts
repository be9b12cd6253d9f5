import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { formatDate, formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { z } from "zod";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import type { AddressDetails } from "./details-query.ts";
import type { AddressContext } from "./read-contexts.ts";
import type { AddressSummary, NoiseRecord, RiotRecord } from "./records.ts";
import type {
  contactSchema,
  fullContextSchema,
  metadataSchema,
  quickContextSchema,
  rawDataSchema,
  requestMetadataSchema,
  scannerSchema,
} from "./schema.ts";

/** The actor of an address that is of none that is known. */
export const NO_ACTOR = "unknown";

export const NO_CONTACT: AddressDetails["contact"] = [0, "", 0, "", "", ""];

export const REQUEST_METADATA: z.input<typeof requestMetadataSchema> = { restricted_fields: [] };

const countryNames = new Intl.DisplayNames("en", { type: "region", fallback: "none" });

/** The English name for an ISO 3166 code; empty for an unknown code. */
export function countryName(code: string): string {
  return code === "" ? "" : (countryNames.of(code) ?? "");
}

/** The short form of operation 4: only what was found, classification and trust level. */
export function toQuickContext(ip: string, { noise, riot }: AddressSummary): z.input<typeof quickContextSchema> {
  return {
    ip,
    business_service_intelligence: { found: riot !== undefined, trust_level: riot?.trustLevel ?? "" },
    internet_scanner_intelligence: { found: noise !== undefined, classification: noise?.classification ?? "" },
  };
}

/**
 * The full form of operation 4, with every member: clients read them without a check.
 * @param namedScopes whose sensors the caller may know by name.
 */
export function toFullContext(
  ip: string,
  context: AddressContext,
  catalogue: TagCatalogue,
  namedScopes: readonly Scope[],
): z.input<typeof fullContextSchema> {
  return {
    ip,
    business_service_intelligence: toService(context.riot),
    internet_scanner_intelligence: {
      ...toScanner(context.noise, context.details, catalogue),
      contact: toContact(context, namedScopes),
    },
  };
}

function toService(riot: RiotRecord | undefined) {
  return {
    found: riot !== undefined,
    category: riot?.category ?? "",
    name: riot?.name ?? "",
    description: riot?.description ?? "",
    explanation: riot?.explanation ?? "",
    last_updated: riot === undefined ? "" : formatTimestamp(riot.refreshedAt),
    reference: riot?.reference ?? "",
    trust_level: riot?.trustLevel ?? "",
  };
}

function toScanner(
  noise: NoiseRecord | undefined,
  details: AddressDetails | undefined,
  catalogue: TagCatalogue,
): Omit<z.input<typeof scannerSchema>, "contact"> {
  const tags = (noise?.tagIds ?? []).flatMap((id) => catalogue.byId(id) ?? []);
  return {
    // Without details, its observations have expired since the lookup.
    first_seen: noise === undefined ? "" : formatDate(details?.first_seen ?? noise.lastSeen),
    last_seen: noise === undefined ? "" : formatDate(noise.lastSeen),
    found: noise !== undefined,
    tags: tags.map((tag) => ({
      id: tag.id,
      slug: tag.slug,
      name: tag.name,
      description: tag.description,
      category: tag.category,
      intention: tag.intention,
      references: tag.references,
      cves: tag.cves,
      recommend_block: tag.recommend_block,
      created: tag.created_at,
      created_at: tag.created_at,
      updated_at: tag.updated_at,
    })),
    actor: noise === undefined ? "" : (noise.actor ?? NO_ACTOR),
    spoofable: noise?.isSpoofable ?? false,
    classification: noise?.classification ?? "",
    cves: [...new Set(tags.flatMap((tag) => tag.cves))].sort(),
    bot: false,
    vpn: false,
    vpn_service: "",
    tor: false,
    metadata: details === undefined ? {} : toMetadata(details),
    raw_data: details === undefined ? {} : toRawData(details),
    last_seen_timestamp: noise === undefined ? "" : formatTimestamp(noise.lastSeen).replace("T", " ").slice(0, 19),
  };
}

/** Of an address that could be forged by then, no observation that details were read from a moment later counts. */
function toContact({ noise, details }: AddressContext, namedScopes: readonly Scope[]): z.input<typeof contactSchema> {
  const [at, by, port, sensor, dataset, workspaceId] = details?.contact ?? NO_CONTACT;
  if (noise === undefined || noise.isSpoofable || at === 0) {
    return { observed_at: "", by: "", destination_port: 0, sensor: "" };
  }
  const isNamed = namedScopes.some((scope) => scope.dataset === dataset && scope.workspaceId === workspaceId);
  return { observed_at: formatTimestamp(at), by, destination_port: port, sensor: isNamed ? sensor : "" };
}

function toMetadata(details: AddressDetails): z.input<typeof metadataSchema> {
  const [rdns, isNameValidated] = details.named;
  return {
    asn: details.asn === 0 ? "" : `AS${details.asn}`,
    source_country: countryName(details.country),
    source_country_code: details.country,
    source_city: details.city,
    domain: "",
    rdns_parent: "",
    rdns_validated: isNameValidated,
    organization: details.organization,
    category: "",
    rdns,
    os: "",
    sensor_count: details.sensors,
    sensor_hits: details.hits,
    region: details.region,
    mobile: false,
    single_destination: false,
    destination_countries: [],
    destination_country_codes: [],
    destination_asns: [],
    destination_cities: [],
    carrier: "",
    datacenter: "",
    ...toCoordinates(details),
  };
}

/** Both or neither: 0 degrees east and north is a place, which a client would show on its map. */
function toCoordinates({ coordinates: [latitude, longitude] }: AddressDetails) {
  return latitude === 0 && longitude === 0 ? {} : { longitude, latitude };
}

function toRawData(details: AddressDetails): z.input<typeof rawDataSchema> {
  return {
    scan: details.ports.map(([port, protocol]) => ({ port, protocol })),
    ja3: details.ja3.map(([fingerprint, port]) => ({ fingerprint, port })),
    hassh: details.hassh.map(([fingerprint, port]) => ({ fingerprint, port })),
    http: {
      md5: [],
      cookie_keys: details.cookies,
      request_authorization: [],
      request_cookies: [],
      request_header: details.headers,
      method: details.methods,
      path: details.paths,
      request_origin: [],
      useragent: details.user_agents,
    },
    source: { bytes: 0 },
    tls: { cipher: [], ja4: details.ja4 },
    ssh: { key: [] },
  };
}
