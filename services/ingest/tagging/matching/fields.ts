import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { TRANSPORTS } from "@noisefloor/domain/observation/members.ts";
import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";

export type Member = keyof WireObservation;

/** What rules look at: an observation, of which any member may be missing. */
export type Taggable = { readonly [Name in Member]?: WireObservation[Name] | undefined };

type TextField = {
  readonly type: "text";
  /** The member of an observation that has it: without this member, the field has no value. */
  readonly member: Member;
  /** Whether its normal form is URL-decoded. */
  readonly isDecoded: boolean;
  /** Whether an observation may have several. */
  readonly isList: boolean;
  readonly read: (observation: Taggable) => readonly string[];
  /** The form that all its values have; a rule that asks for another could never match. */
  readonly takes?: { readonly pattern: RegExp; readonly description: string };
};

type NumberField = {
  readonly type: "number";
  readonly member: Member;
  readonly max: number;
  readonly read: (observation: Taggable) => number | undefined;
};

type AddressField = {
  readonly type: "address";
  readonly member: Member;
  readonly read: (observation: Taggable) => string | undefined;
};

const NONE: readonly string[] = [];

/** An empty text says as little as a missing one: both are stored alike. */
const one = (value: string | undefined): readonly string[] => (value === undefined || value === "" ? NONE : [value]);
const many = (values: readonly (string | undefined)[] | undefined): readonly string[] =>
  values === undefined || values.length === 0
    ? NONE
    : values.flatMap((value) => (value === undefined || value === "" ? [] : [value]));

type TextOptions = Partial<Pick<TextField, "isDecoded" | "takes">>;

const text = (member: Member, read: (observation: Taggable) => string | undefined, options: TextOptions = {}) =>
  ({
    type: "text",
    member,
    isDecoded: false,
    isList: false,
    read: (observation: Taggable) => one(read(observation)),
    ...options,
  }) as const satisfies TextField;
const texts = (
  member: Member,
  read: (observation: Taggable) => readonly (string | undefined)[] | undefined,
  options: TextOptions = {},
) =>
  ({
    type: "text",
    member,
    isDecoded: false,
    isList: true,
    read: (observation: Taggable) => many(read(observation)),
    ...options,
  }) as const satisfies TextField;
const number = (member: Member, max: number, read: (observation: Taggable) => number | undefined) =>
  ({ type: "number", member, max, read }) as const;
const decoded = { isDecoded: true } as const;

function uriOf({ http }: Taggable): string | undefined {
  if (http === undefined) return undefined;
  return http.query === undefined || http.query === "" ? http.path : `${http.path ?? ""}?${http.query}`;
}

const PORTS = 65_535;

type Field = TextField | NumberField | AddressField;

/** Every field that a rule can name, and where an observation has it. */
export const FIELDS = {
  transport: text("transport", ({ transport }) => transport, {
    takes: { pattern: new RegExp(`^(?:${TRANSPORTS.join("|")})$`, "i"), description: TRANSPORTS.join(", ") },
  }),
  source_port: number("source_port", PORTS, ({ source_port }) => source_port),
  destination_port: number("destination_port", PORTS, ({ destination_port }) => destination_port),
  application: text("application", ({ application }) => application),
  method: text("http", ({ http }) => http?.method),
  path: text("http", ({ http }) => http?.path, decoded),
  query: text("http", ({ http }) => http?.query, decoded),
  uri: text("http", uriOf, decoded),
  host: text("http", ({ http }) => http?.host, decoded),
  user_agent: text("http", ({ http }) => http?.user_agent, decoded),
  referer: text("http", ({ http }) => http?.referer, decoded),
  header: texts("http", ({ http }) => http?.headers),
  cookie: texts("http", ({ http }) => http?.cookies),
  header_line: texts("http", ({ http }) => http?.header_lines, decoded),
  body: text("http", ({ http }) => http?.body, decoded),
  ja3: text("tls", ({ tls }) => tls?.ja3),
  ja4: text("tls", ({ tls }) => tls?.ja4),
  hassh: text("ssh", ({ ssh }) => ssh?.hassh),
  ssh_banner: text("ssh", ({ ssh }) => ssh?.banner),
  username: texts("credentials", ({ credentials }) => credentials?.map(({ username }) => username)),
  password: texts("credentials", ({ credentials }) => credentials?.map(({ password }) => password)),
  login_attempts: number("login_attempts", 1_000_000, ({ login_attempts }) => login_attempts),
  command: texts("commands", ({ commands }) => commands, decoded),
  url: texts("urls", ({ urls }) => urls, decoded),
  payload_sha256: texts("payload_sha256", ({ payload_sha256 }) => payload_sha256, {
    takes: { pattern: /^[0-9a-f]{64}$/i, description: "64 hexadecimal digits" },
  }),
  label: texts("labels", ({ labels }) => labels),
  source_ip: {
    type: "address",
    member: "source_ip",
    read: ({ source_ip }) => (source_ip && isIpv4(source_ip) ? source_ip : undefined),
  },
  asn: number("asn", 4_294_967_295, ({ asn }) => asn),
  organization: text("organization", ({ organization }) => organization),
  country: text("country", ({ country }) => country, {
    takes: { pattern: /^[a-z]{2}$/i, description: "two letters, ISO 3166-1 alpha-2" },
  }),
  rdns: text("rdns", ({ rdns }) => rdns),
  validated_rdns: text("rdns", ({ rdns, rdns_validated }) => (rdns_validated ? rdns : undefined)),
  sensor: text("sensor_id", ({ sensor_id }) => sensor_id),
} satisfies Readonly<Record<string, Field>>;

export type FieldName = keyof typeof FIELDS;

type NamesOf<Type extends Field["type"]> = {
  [Name in FieldName]: (typeof FIELDS)[Name]["type"] extends Type ? Name : never;
}[FieldName];
export type TextFieldName = NamesOf<"text">;
export type NumberFieldName = NamesOf<"number">;

export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(FIELDS, name);
}

/** In the order of the table above. */
export function fieldNames(): readonly string[] {
  return Object.keys(FIELDS);
}
