import type { Member, Members, MembersOf, MemberType, NamesOf } from "./member.ts";

/** Transport protocols of an observation. */
export const TRANSPORTS = ["tcp", "udp", "icmp", "sctp"] as const;
export type Transport = (typeof TRANSPORTS)[number];

const text = <Max extends number>(maxLength: Max) => ({ type: "text", maxLength }) as const;
const texts = <Max extends number>(maxLength: Max, maxItems: number) =>
  ({ type: "texts", maxLength, maxItems }) as const;
const IDENTIFIER = { type: "identifier", maxLength: 128 } as const;

/** A field of the search language: how it compares, and all that it may be called, the hosted service's name first. */
const searched =
  <Kind extends "words" | "value" | "number">(kind: Kind) =>
  <Field extends string>(field: Field, names: string) =>
    ({ kind, field, names }) as const;
const [words, value, number] = [searched("words"), searched("value"), searched("number")];
const fewValues = <Search>(search: Search) => ({ ...search, hasFewValues: true }) as const;

/** Members of a request. */
export const HTTP = {
  method: {
    ...text(32),
    rules: ["method"],
    maps: ["http_method"],
    search: [fewValues(value("method", "raw_data.http.method"))],
  },
  host: {
    ...text(255),
    rules: ["host"],
    isDecoded: true,
    maps: ["http_host"],
    search: [value("host", "raw_data.http.host")],
  },
  path: {
    ...text(2_048),
    rules: ["path"],
    isDecoded: true,
    maps: ["http_target"],
    search: [{ ...value("path", "raw_data.http.path path raw_data.web.paths"), list: ["paths", "Path"] }],
  },
  query: {
    ...text(4_096),
    doc: "What stands after the ? of the request's target.",
    rules: ["query"],
    maps: [],
    isDecoded: true,
  },
  user_agent: {
    ...text(1_024),
    rules: ["user_agent"],
    isDecoded: true,
    maps: ["http_user_agent"],
    search: [
      {
        ...words("user_agent", "raw_data.http.useragent useragent raw_data.web.useragents"),
        list: ["useragents", "Agent"],
      },
    ],
  },
  referer: { ...text(2_048), rules: ["referer"], isDecoded: true, maps: ["http_referer"] },
  headers: { ...texts(128, 64), doc: "The names of the request's header fields.", rules: ["header"], maps: [] },
  header_lines: {
    type: "lines",
    maxLength: 2_048,
    maxItems: 64,
    doc:
      "Header fields with their values, like `X-Api-Version: 1`, without Host, User-Agent and Referer; at most " +
      "4096 characters together. Rules match them.",
    rules: ["header_line"],
    maps: [],
    isDecoded: true,
  },
  cookies: { ...texts(128, 64), doc: "The names of its cookies.", rules: ["cookie"], maps: [] },
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
    ...text(64),
    rules: ["ja3"],
    search: [{ ...value("ja3", "raw_data.ja3.fingerprint ja3"), list: ["ja3", "JA3"] }],
  },
  ja4: { ...text(64), rules: ["ja4"], search: [{ ...value("ja4", "raw_data.tls.ja4 ja4"), list: ["ja4", "JA4"] }] },
  sni: {
    ...text(255),
    doc: "The server's name that it asked for.",
    rules: ["sni"],
    search: [{ ...value("sni", "raw_data.tls.sni sni"), list: ["sni", "TLS server name"] }],
  },
} as const satisfies Members;

/** Members of an SSH handshake. */
export const SSH = {
  hassh: {
    ...text(64),
    rules: ["hassh"],
    search: [{ ...value("hassh", "raw_data.hassh.fingerprint hassh"), list: ["hassh", "HASSH"] }],
  },
  banner: { ...text(512), rules: ["ssh_banner"] },
} as const satisfies Members;

/** Members about one visit: when, to which sensor, and what the source did. */
export const VISIT = {
  observed_at: { type: "time", doc: "When the sensor saw it; kept to the millisecond.", maps: ["observed_at"] },
  sensor_id: {
    ...IDENTIFIER,
    doc: "The sensor that saw it. Required, unless the sensor key is for one sensor: the default is then that one.",
    rules: ["sensor"],
    maps: ["sensor_id"],
    search: [fewValues(value("sensor", "sensor"))],
  },
  source_ip: {
    type: "source",
    maxLength: 64,
    doc: "The observed source: a routable IPv4 address in dotted decimal.",
    rules: ["source_ip"],
  },
  observation_id: {
    ...IDENTIFIER,
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
    search: [fewValues(value("protocol", "raw_data.scan.protocol protocol"))],
  },
  established: {
    type: "flag",
    doc:
      "Whether the source received what was sent to it: a TCP handshake was completed, so that the address is not " +
      "forged. Left out, a login, a command, a request, a banner or a TLS hello over TCP says so.",
    maps: ["established"],
  },
  source_port: { type: "port", rules: ["source_port"] },
  destination_port: {
    type: "port",
    rules: ["destination_port"],
    search: [{ ...number("port", "raw_data.scan.port port"), facet: "port" }],
  },
  tags: { type: "tags", maxLength: 128, maxItems: 64, doc: "Tag ids (UUIDs) or slugs from the catalogue." },
  application: {
    type: "protocol_name",
    maxLength: 32,
    doc: "The application protocol that the sensor recognised or spoke: ssh, telnet, http, smb, ...",
    rules: ["application"],
  },
  session_id: {
    ...IDENTIFIER,
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
      { ...value("username", "username"), list: ["usernames", "User name"] },
      { ...value("password", "password"), list: ["passwords", "Password"] },
      { ...value("credential", "credential"), list: ["credentials", "Login"] },
    ],
  },
  login_attempts: {
    type: "count",
    doc: "How often it tried to log in.",
    isAttack: true,
    rules: ["login_attempts"],
    maps: [],
  },
  commands: {
    ...texts(1_024, 64),
    doc: "What it typed into a shell.",
    isAttack: true,
    rules: ["command"],
    isDecoded: true,
    search: [{ ...value("command", "command"), list: ["commands", "Command"] }],
  },
  urls: {
    ...texts(2_048, 32),
    doc: "What it made the sensor download.",
    isAttack: true,
    rules: ["url"],
    isDecoded: true,
    search: [{ ...value("url", "url"), list: ["urls", "URL"] }],
  },
  payload_sha256: {
    type: "digests",
    maxItems: 32,
    doc: "Digests of the files that it left.",
    isAttack: true,
    rules: ["payload_sha256"],
    search: [{ ...value("sha256", "sha256"), list: ["sha256", "SHA-256"] }],
  },
  labels: {
    type: "identifiers",
    maxLength: 256,
    maxItems: 64,
    doc: "The sensor's own words, like the names of signatures. Tagging rules match them; none is a tag by itself.",
    rules: ["label"],
  },
  metadata: { type: "object", doc: "Anything else, at most 8 KiB as JSON." },
} as const satisfies Members;

/** What the intake finds in an observation: no sender can state it. */
export const FOUND = {
  callbacks: {
    type: "callbacks",
    maxItems: 64,
    doc: "The hosts that it told the sensor to fetch from or to connect to.",
    search: [value("callback", "callback")],
  },
} as const satisfies Members;

/** What is known of the source, which enrichment fills in. */
export const SOURCE = {
  asn: {
    type: "as_number",
    doc: "Autonomous system number of the source.",
    rules: ["asn"],
    search: [{ ...number("asn", "metadata.asn asn"), facet: "network" }],
  },
  organization: {
    ...text(256),
    rules: ["organization"],
    search: [{ ...words("organization", "metadata.organization"), facet: "network" }],
  },
  country: {
    type: "country_code",
    rules: ["country"],
    search: [
      words("country", "metadata.source_country country source_country metadata.country"),
      {
        ...value("country_code", "metadata.source_country_code country_code source_country_code metadata.country_code"),
        facet: "country",
      },
    ],
  },
  region: { ...text(128), search: [fewValues(words("region", "metadata.region"))] },
  city: {
    ...text(128),
    maps: ["city"],
    search: [fewValues(words("city", "metadata.source_city city source_city metadata.city"))],
  },
  latitude: { type: "latitude", doc: "Degrees north; of the source." },
  longitude: { type: "longitude", doc: "Degrees east." },
  rdns: {
    ...text(255),
    doc: "Reverse DNS name of the source.",
    rules: ["rdns"],
    search: [words("rdns", "metadata.rdns")],
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
  ["", FOUND],
] as const;
export const ALL_MEMBERS = [
  ...Object.values(VISIT),
  ...Object.values(HTTP),
  ...Object.values(TLS),
  ...Object.values(SSH),
  ...Object.values(SOURCE),
  ...Object.values(FOUND),
];

/** A field of the search language that is a member. */
export type SearchedMember = Extract<(typeof ALL_MEMBERS)[number], { readonly search: unknown }>["search"][number];
export const SEARCHED_MEMBERS = ALL_MEMBERS.flatMap((member): readonly SearchedMember[] =>
  "search" in member ? member.search : [],
);

/** The member and its column that a field of the search language is a value of. */
export function searchedAs(field: SearchedMember["field"]): { readonly member: Member; readonly column: string } {
  for (const [prefix, table] of TABLES) {
    for (const [name, member] of Object.entries<Member>(table)) {
      if (member.search?.some((search) => search.field === field)) return { member, column: prefix + name };
    }
  }
  throw new RangeError(`no member is searched as ${field}`);
}

type FewValuedMember = Extract<SearchedMember, { readonly hasFewValues: true }>;
export type FewValuedField = FewValuedMember["field"];
/** The columns of the fields of few values. */
export const FEW_VALUED = byName(
  SEARCHED_MEMBERS.filter((member): member is FewValuedMember => "hasFewValues" in member).map(
    ({ field }) => [field, searchedAs(field).column] as const,
  ),
);
export const isFewValued = (field: string): field is FewValuedField => field in FEW_VALUED;

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
  const isWhole = (record: typeof values): record is Record<Name, Value> => entries.every(([name]) => name in record);
  if (!isWhole(values)) throw new Error("a name has no value");
  return values;
}
