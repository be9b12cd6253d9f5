import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { expect } from "vitest";
import type { Marked } from "../builders/marked-observations.ts";
import { createOracle, isSpoofable, proofOf, rfc3339 } from "./oracle.ts";

const EVERYWHERE = ["global", "community", "personal"];
const COUNTRIES: Readonly<Record<string, string>> = { DE: "Germany", VN: "Vietnam", BR: "Brazil" };

/** The base of the links that the service under test must give. */
export const PUBLIC_URL = "http://noisefloor.test";

/** The visible observations, and the lists of networks. */
export type Known = {
  readonly seen: readonly Marked[];
  readonly tags: readonly Tag[];
  /** The benign service in whose networks an address is, as answers describe it. */
  serviceOf(ip: string): Service | undefined;
  /** The name of the benign actor in whose networks an address is. */
  actorOf(ip: string): string | undefined;
};
export type Service = {
  readonly category: string;
  readonly name: string;
  readonly description: string;
  readonly explanation: string;
  readonly last_updated: string;
  readonly reference: string;
  readonly trust_level: string;
};

export const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** The record of an address, from the plain list; members are undefined when it was not observed. */
function lookAt(ip: string, known: Known) {
  const seen = known.seen.filter((one) => one.ip === ip);
  const times = seen.map(({ at }) => at).sort((a, b) => a - b);
  const oracle = createOracle(seen, known.tags, (address) => known.actorOf(address) !== undefined);
  return {
    seen,
    first: times[0],
    last: times.at(-1),
    classification: oracle.classification(ip, EVERYWHERE),
    service: known.serviceOf(ip),
  };
}

/** `GET /v3/community/{ip}`. */
export function expectedCommunity(ip: string, known: Known) {
  const { last, classification, service } = lookAt(ip, known);
  if (last === undefined && service === undefined) {
    const message = "IP not observed scanning the internet or contained in RIOT data set.";
    return { status: 404, body: { ip, noise: false, riot: false, message } };
  }
  const body = {
    ip,
    noise: last !== undefined,
    riot: service !== undefined,
    classification: last === undefined ? "benign" : classification,
    name: service?.name ?? known.actorOf(ip) ?? "unknown",
    link: `${PUBLIC_URL}/${service === undefined ? "ip" : "riot"}/${ip}`,
    last_seen: last === undefined ? service?.last_updated.slice(0, 10) : dateOf(last),
    message: "Success",
  };
  return { status: 200, body };
}

export const isFound = (ip: string, known: Known) =>
  known.seen.some((one) => one.ip === ip) || known.serviceOf(ip) !== undefined;

/** An address in the short form of operation 4. */
export function expectedQuick(ip: string, known: Known) {
  const { last, classification, service } = lookAt(ip, known);
  return {
    ip,
    business_service_intelligence: { found: service !== undefined, trust_level: service?.trust_level ?? "" },
    internet_scanner_intelligence: {
      found: last !== undefined,
      classification: last === undefined ? "" : classification,
    },
  };
}

/** An address in the full form of operation 4. */
export function expectedFull(ip: string, known: Known) {
  const nothing = { category: "", name: "", description: "", explanation: "", last_updated: "", reference: "" };
  const { service } = lookAt(ip, known);
  return {
    ip,
    business_service_intelligence: { found: service !== undefined, ...nothing, trust_level: "", ...service },
    internet_scanner_intelligence: expectedScanner(ip, known),
  };
}

function expectedScanner(ip: string, known: Known) {
  const { seen, first, last, classification } = lookAt(ip, known);
  const isSeen = first !== undefined && last !== undefined;
  const tags = known.tags
    .filter(({ id }) => seen.some(({ tagIds }) => tagIds.includes(id)))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    first_seen: isSeen ? dateOf(first) : "",
    last_seen: isSeen ? dateOf(last) : "",
    found: isSeen,
    tags: tags.map(({ id, slug, intention, cves }) => expect.objectContaining({ id, slug, intention, cves })),
    actor: isSeen ? (known.actorOf(ip) ?? "unknown") : "",
    spoofable: isSpoofable(seen),
    classification: isSeen ? classification : "",
    contact: expectedContact(seen),
    cves: sorted(tags.flatMap(({ cves }) => cves)),
    bot: false,
    vpn: false,
    vpn_service: "",
    tor: false,
    metadata: isSeen ? expectedMetadata(seen) : {},
    raw_data: isSeen ? expectedRawData(seen) : {},
    last_seen_timestamp: isSeen ? rfc3339(last).replace("T", " ").replace("Z", "") : "",
  };
}

/** The latest observation that proves contact. Of the shared datasets these callers know no sensors. */
function expectedContact(seen: readonly Marked[]) {
  const [latest] = seen
    .filter((one) => proofOf(one) !== undefined)
    .toSorted((a, b) => b.at - a.at || (a.observationId < b.observationId ? 1 : -1));
  if (latest === undefined) return { observed_at: "", by: "", destination_port: 0, sensor: "" };
  const sensor = latest.dataset === "personal" ? latest.sensorId : "";
  return { observed_at: rfc3339(latest.at), by: proofOf(latest), destination_port: latest.port ?? 0, sensor };
}

function expectedMetadata(seen: readonly Marked[]) {
  /** The value of the latest observation that has one. */
  const latest = <T>(said: (one: Marked) => T | undefined): T | undefined => {
    let newest: Marked | undefined;
    for (const one of seen) {
      if (said(one) === undefined) continue;
      const isNewer =
        newest === undefined ||
        one.at > newest.at ||
        (one.at === newest.at && one.observationId > newest.observationId);
      if (isNewer) newest = one;
    }
    return newest === undefined ? undefined : said(newest);
  };
  const asn = latest((one) => one.asn);
  const country = latest((one) => one.country) ?? "";
  const coordinates = latest((one) => one.coordinates);
  return {
    asn: asn === undefined ? "" : `AS${asn}`,
    source_country: COUNTRIES[country] ?? "",
    source_country_code: country,
    source_city: latest((one) => one.city) ?? "",
    domain: "",
    rdns_parent: "",
    rdns_validated: false,
    organization: latest((one) => one.organization) ?? "",
    category: "",
    rdns: latest((one) => one.rdns) ?? "",
    os: "",
    sensor_count: new Set(seen.map(({ sensorId }) => sensorId)).size,
    sensor_hits: seen.length,
    region: latest((one) => one.region) ?? "",
    mobile: false,
    single_destination: false,
    destination_countries: [],
    destination_country_codes: [],
    destination_asns: [],
    destination_cities: [],
    carrier: "",
    datacenter: "",
    ...(coordinates === undefined ? {} : { longitude: coordinates[1], latitude: coordinates[0] }),
  };
}

function expectedRawData(seen: readonly Marked[]) {
  const all = (said: (one: Marked) => string | undefined) => sorted(seen.flatMap((one) => said(one) ?? []));
  const fingerprints = (said: (one: Marked) => string | undefined) => {
    const found = new Map(
      seen.map((one) => [`${said(one)} ${one.port}`, { fingerprint: said(one), port: one.port ?? 0 }]),
    );
    return [...found.values()]
      .flatMap(({ fingerprint, port }) => (fingerprint === undefined ? [] : [{ fingerprint, port }]))
      .sort((a, b) => (a.fingerprint === b.fingerprint ? a.port - b.port : a.fingerprint < b.fingerprint ? -1 : 1));
  };
  const ports = new Map(
    seen.map(({ port, transport = "" }) => [`${port}/${transport}`, { port, protocol: transport }]),
  );
  const scan = [...ports.values()].flatMap(({ port, protocol }) => (port === undefined ? [] : [{ port, protocol }]));
  return {
    scan: scan.sort((a, b) => a.port - b.port || (a.protocol < b.protocol ? -1 : 1)),
    ja3: fingerprints((one) => one.ja3),
    hassh: fingerprints((one) => one.hassh),
    http: {
      md5: [],
      cookie_keys: sorted(seen.flatMap(({ cookies = [] }) => cookies)),
      request_authorization: [],
      request_cookies: [],
      request_header: sorted(seen.flatMap(({ headers = [] }) => headers)),
      method: all((one) => one.method),
      path: all((one) => one.path),
      request_origin: [],
      useragent: all((one) => one.userAgent),
    },
    source: { bytes: 0 },
    tls: { cipher: [], ja4: all((one) => one.ja4) },
    ssh: { key: [] },
  };
}

const sorted = (texts: readonly string[]) => [...new Set(texts)].sort();

/** `GET /v2/noise/context/{ip}`. */
export function expectedFlat(ip: string, known: Known) {
  const seen = known.seen.filter((one) => one.ip === ip);
  if (seen.length === 0) return { ip, seen: false };
  const { cves, first_seen, last_seen, actor, classification } = expectedScanner(ip, known);
  const ids = new Set(seen.flatMap(({ tagIds }) => tagIds));
  const tags = known.tags.filter(({ id }) => ids.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1));
  const { scan, ja3, hassh, http } = expectedRawData(seen);
  const metadata = expectedMetadata(seen);
  const { asn, organization, region, source_city, source_country, source_country_code, rdns } = metadata;
  const { sensor_count, sensor_hits } = metadata;
  return {
    ip,
    seen: true,
    first_seen,
    last_seen,
    actor,
    classification,
    spoofable: isSpoofable(seen),
    bot: false,
    vpn: false,
    vpn_service: "",
    tor: false,
    tags: tags.map(({ name }) => name),
    cve: cves,
    metadata: {
      asn,
      organization,
      category: "",
      city: source_city,
      country: source_country,
      country_code: source_country_code,
      source_country,
      source_country_code,
      region,
      rdns,
      os: "",
      tor: false,
      sensor_count,
      sensor_hits,
      destination_countries: [],
      destination_country_codes: [],
    },
    raw_data: {
      scan: scan.map(({ port, protocol }) => ({ port, protocol: protocol.toUpperCase() })),
      web: { paths: http.path, useragents: http.useragent },
      ja3,
      hassh,
    },
  };
}

/** `GET /v2/riot/{ip}`. */
export function expectedRiot(ip: string, known: Known) {
  const service = known.serviceOf(ip);
  return service === undefined ? { ip, riot: false } : { ip, riot: true, ...service };
}

/** `GET /v2/noise/quick/{ip}`. */
export function expectedCode(ip: string, known: Known) {
  const seen = known.seen.filter((one) => one.ip === ip);
  const noise = seen.length > 0;
  const riot = known.serviceOf(ip) !== undefined;
  const alone = isSpoofable(seen) ? "0x02" : "0x01";
  return { ip, noise, riot, code: noise ? (riot ? "0x10" : alone) : riot ? "0x09" : "0x00" };
}
