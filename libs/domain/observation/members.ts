import type { Members, MembersOf, MemberType, NamesOf } from "./member.ts";

/** Transport protocols of an observation. */
export const TRANSPORTS = ["tcp", "udp", "icmp", "sctp"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Members of a request. */
export const HTTP = {
  method: {
    type: "text",
    maxLength: 32,
    rules: ["method"],
    maps: ["http_method"],
    search: [{ field: "method", kind: "value", names: "raw_data.http.method" }],
  },
  host: {
    type: "text",
    maxLength: 255,
    rules: ["host"],
    isDecoded: true,
    maps: ["http_host"],
    search: [{ field: "host", kind: "value", names: "raw_data.http.host" }],
  },
  path: {
    type: "text",
    maxLength: 2_048,
    rules: ["path"],
    isDecoded: true,
    maps: ["http_target"],
    search: [
      {
        field: "path",
        kind: "value",
        names: "raw_data.http.path path raw_data.web.paths",
        list: { name: "paths", heading: "Path" },
      },
    ],
  },
  query: {
    type: "text",
    maxLength: 4_096,
    doc: "What stands after the ? of the request's target.",
    rules: ["query"],
    isDecoded: true,
  },
  user_agent: {
    type: "text",
    maxLength: 1_024,
    rules: ["user_agent"],
    isDecoded: true,
    maps: ["http_user_agent"],
    search: [
      {
        field: "user_agent",
        kind: "words",
        names: "raw_data.http.useragent useragent raw_data.web.useragents",
        list: { name: "useragents", heading: "Agent" },
      },
    ],
  },
  referer: { type: "text", maxLength: 2_048, rules: ["referer"], isDecoded: true, maps: ["http_referer"] },
  headers: {
    type: "texts",
    maxLength: 128,
    maxItems: 64,
    doc: "The names of the request's header fields.",
    rules: ["header"],
  },
  header_lines: {
    type: "lines",
    maxLength: 2_048,
    maxItems: 64,
    doc:
      "Header fields with their values, like `X-Api-Version: 1`, without Host, User-Agent and Referer; at most " +
      "4096 characters together. Rules match them.",
    rules: ["header_line"],
    isDecoded: true,
  },
  cookies: { type: "texts", maxLength: 128, maxItems: 64, doc: "The names of its cookies.", rules: ["cookie"] },
  body: {
    type: "body",
    maxLength: 4_096,
    doc: "The first characters of its body. Rules match them; its digest and a short head are kept.",
    rules: ["body"],
    isDecoded: true,
    maps: ["http_body"],
  },
} as const satisfies Members;

const { body: _body, ...storedOfHttp } = HTTP;
/** What is stored of a request: of its body a short head and the digest. */
export const STORED_HTTP = {
  ...storedOfHttp,
  body_head: { type: "text", doc: "The first 256 characters of its body, a dot for each that cannot be printed." },
  body_sha256: { type: "text", doc: "The digest of its body." },
} as const satisfies Members;

/** Members of a TLS handshake. */
export const TLS = {
  ja3: {
    type: "text",
    maxLength: 64,
    rules: ["ja3"],
    maps: ["ja3"],
    search: [
      { field: "ja3", kind: "value", names: "raw_data.ja3.fingerprint ja3", list: { name: "ja3", heading: "JA3" } },
    ],
  },
  ja4: {
    type: "text",
    maxLength: 64,
    rules: ["ja4"],
    maps: ["ja4"],
    search: [{ field: "ja4", kind: "value", names: "raw_data.tls.ja4 ja4", list: { name: "ja4", heading: "JA4" } }],
  },
  sni: {
    type: "text",
    maxLength: 255,
    doc: "The server's name that it asked for.",
    rules: ["sni"],
    maps: ["sni"],
    search: [
      { field: "sni", kind: "value", names: "raw_data.tls.sni sni", list: { name: "sni", heading: "TLS server name" } },
    ],
  },
} as const satisfies Members;

/** Members of an SSH handshake. */
export const SSH = {
  hassh: {
    type: "text",
    maxLength: 64,
    rules: ["hassh"],
    maps: ["hassh"],
    search: [
      {
        field: "hassh",
        kind: "value",
        names: "raw_data.hassh.fingerprint hassh",
        list: { name: "hassh", heading: "HASSH" },
      },
    ],
  },
  banner: { type: "text", maxLength: 512, rules: ["ssh_banner"], maps: ["ssh_banner"] },
} as const satisfies Members;

/** Members about one visit: when, to which sensor, and what the source did. */
export const VISIT = {
  observed_at: { type: "time", doc: "When the sensor saw it; kept to the millisecond.", maps: ["observed_at"] },
  sensor_id: {
    type: "identifier",
    maxLength: 128,
    doc: "The sensor that saw it. Required, unless the sensor key is for one sensor: the default is then that one.",
    rules: ["sensor"],
    maps: ["sensor_id"],
    search: [{ field: "sensor", kind: "value", names: "sensor" }],
  },
  source_ip: {
    type: "source",
    maxLength: 64,
    doc: "The observed source: a routable IPv4 address in dotted decimal.",
    rules: ["source_ip"],
    maps: ["source_ip"],
  },
  observation_id: {
    type: "identifier",
    maxLength: 128,
    doc:
      "The sensor's own id for this observation: the same id sent twice is one observation. Never send it again with " +
      "another time, address or content.",
    maps: ["record_id"],
  },
  dataset: { type: "dataset", doc: "Its dataset. The default is that of the sensor key, or global." },
  workspace_id: {
    type: "workspace",
    doc: "Its workspace: only in the personal dataset, and required there unless the sensor key has one.",
  },
  transport: {
    type: "ip_protocol",
    rules: ["transport"],
    maps: ["transport"],
    search: [{ field: "protocol", kind: "value", names: "raw_data.scan.protocol protocol" }],
  },
  source_port: { type: "port", rules: ["source_port"], maps: ["source_port"] },
  destination_port: {
    type: "port",
    rules: ["destination_port"],
    maps: ["destination_port"],
    search: [{ field: "port", kind: "number", names: "raw_data.scan.port port", facet: "port" }],
  },
  tags: { type: "tags", maxLength: 128, maxItems: 64, doc: "Tag ids (UUIDs) or slugs from the catalogue." },
  application: {
    type: "protocol_name",
    maxLength: 32,
    doc: "The application protocol that the sensor recognised or spoke: ssh, telnet, http, smb, ...",
    rules: ["application"],
    maps: ["application"],
  },
  session_id: {
    type: "identifier",
    maxLength: 128,
    doc:
      "The sensor's own id of the session or flow. All that one sensor sends about one session of one source within a " +
      "day is stored as one observation, to which each record adds what it knows.",
    maps: ["session_id"],
  },
  credentials: {
    type: "logins",
    maxLength: 256,
    maxItems: 32,
    doc: "What it tried to log in with.",
    isAttack: true,
    rules: ["username", "password", "credential"],
    maps: ["username", "password"],
    search: [
      { field: "username", kind: "value", names: "username", list: { name: "usernames", heading: "User name" } },
      { field: "password", kind: "value", names: "password", list: { name: "passwords", heading: "Password" } },
      { field: "credential", kind: "value", names: "credential", list: { name: "credentials", heading: "Login" } },
    ],
  },
  login_attempts: { type: "count", doc: "How often it tried to log in.", isAttack: true, rules: ["login_attempts"] },
  commands: {
    type: "texts",
    maxLength: 1_024,
    maxItems: 64,
    doc: "What it typed into a shell.",
    isAttack: true,
    rules: ["command"],
    isDecoded: true,
    maps: ["command"],
    search: [{ field: "command", kind: "value", names: "command", list: { name: "commands", heading: "Command" } }],
  },
  urls: {
    type: "texts",
    maxLength: 2_048,
    maxItems: 32,
    doc: "What it made the sensor download.",
    isAttack: true,
    rules: ["url"],
    isDecoded: true,
    maps: ["url"],
    search: [{ field: "url", kind: "value", names: "url", list: { name: "urls", heading: "URL" } }],
  },
  payload_sha256: {
    type: "digests",
    maxItems: 32,
    doc: "Digests of the files that it left.",
    isAttack: true,
    rules: ["payload_sha256"],
    maps: ["payload_sha256"],
    search: [{ field: "sha256", kind: "value", names: "sha256", list: { name: "sha256", heading: "SHA-256" } }],
  },
  labels: {
    type: "identifiers",
    maxLength: 256,
    maxItems: 64,
    doc: "The sensor's own words, like the names of signatures. Tagging rules match them; none is a tag by itself.",
    rules: ["label"],
    maps: ["label"],
  },
  metadata: { type: "object", doc: "Anything else, at most 8 KiB as JSON." },
} as const satisfies Members;

/** What is known of the source, which enrichment fills in. */
export const SOURCE = {
  asn: {
    type: "as_number",
    doc: "Autonomous system number of the source.",
    rules: ["asn"],
    maps: ["asn"],
    search: [{ field: "asn", kind: "number", names: "metadata.asn asn", facet: "network" }],
  },
  organization: {
    type: "text",
    maxLength: 256,
    rules: ["organization"],
    maps: ["organization"],
    search: [{ field: "organization", kind: "words", names: "metadata.organization", facet: "network" }],
  },
  country: {
    type: "country_code",
    rules: ["country"],
    maps: ["country"],
    search: [
      { field: "country", kind: "words", names: "metadata.source_country country source_country metadata.country" },
      {
        field: "country_code",
        kind: "value",
        names: "metadata.source_country_code country_code source_country_code metadata.country_code",
        facet: "country",
      },
    ],
  },
  region: {
    type: "text",
    maxLength: 128,
    search: [{ field: "region", kind: "words", names: "metadata.region" }],
  },
  city: {
    type: "text",
    maxLength: 128,
    maps: ["city"],
    search: [{ field: "city", kind: "words", names: "metadata.source_city city source_city metadata.city" }],
  },
  latitude: { type: "latitude", doc: "Degrees north; of the source." },
  longitude: { type: "longitude", doc: "Degrees east." },
  rdns: {
    type: "text",
    maxLength: 255,
    doc: "Reverse DNS name of the source.",
    rules: ["rdns"],
    maps: ["rdns"],
    search: [{ field: "rdns", kind: "words", names: "metadata.rdns" }],
  },
  rdns_validated: { type: "flag", doc: "Whether that name leads back to the source." },
} as const satisfies Members;

/**
 * Every member of an observation by its name on the wire, where the parts `http`, `tls` and `ssh` hold those of
 * {@link HTTP}, {@link TLS} and {@link SSH}. Its column has the same name, after `http_`, `tls_` or `ssh_` in a part.
 */
export const MEMBERS = { ...VISIT, ...SOURCE };

/** All members by their names, which are those of their columns behind a prefix. */
export const TABLES = [
  ["", VISIT],
  ["http_", HTTP],
  ["tls_", TLS],
  ["ssh_", SSH],
  ["", SOURCE],
] as const;
export const ALL_MEMBERS = [
  ...Object.values(VISIT),
  ...Object.values(HTTP),
  ...Object.values(TLS),
  ...Object.values(SSH),
  ...Object.values(SOURCE),
];

/** A field of the search language that is a member. */
export type SearchedMember = Extract<(typeof ALL_MEMBERS)[number], { readonly search: unknown }>["search"][number];
export const SEARCHED_MEMBERS = ALL_MEMBERS.flatMap((member): readonly SearchedMember[] =>
  "search" in member ? member.search : [],
);

/** The fields that the statistics of what addresses did list. */
export type ListedMember = Extract<SearchedMember, { readonly list: unknown }>;
export const LISTED_MEMBERS = SEARCHED_MEMBERS.filter((member): member is ListedMember => "list" in member);

/** The names of a table's members that hold one of some types, in the order of the table. */
export function namesOf<Table extends MembersOf<Table>, Type extends MemberType>(
  table: Table,
  ...types: readonly Type[]
): NamesOf<Table, Type>[] {
  const names: NamesOf<Table, Type>[] = [];
  const isOfType = (name: keyof Table): name is NamesOf<Table, Type> => types.some((type) => type === table[name].type);
  for (const name in table) if (isOfType(name)) names.push(name);
  return names;
}

/** An object with the value of each name. */
export function byName<Name extends string, Value>(entries: readonly (readonly [name: Name, value: Value])[]) {
  const values: Partial<Record<Name, Value>> = {};
  for (const [name, value] of entries) values[name] = value;
  const isWhole = (some: typeof values): some is Record<Name, Value> => entries.every(([name]) => name in some);
  if (!isWhole(values)) throw new Error("a name has no value");
  return values;
}
