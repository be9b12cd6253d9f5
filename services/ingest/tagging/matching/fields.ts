import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { TRANSPORTS, type WireObservation } from "@noisefloor/domain/observation/schema.ts";

/** What rules look at: an observation, of which any member may be missing. */
export type Taggable = { readonly [Member in keyof WireObservation]?: WireObservation[Member] | undefined };

type TextField = {
  readonly type: "text";
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
  readonly max: number;
  readonly read: (observation: Taggable) => number | undefined;
};

type AddressField = { readonly type: "address"; readonly read: (observation: Taggable) => string | undefined };

const NONE: readonly string[] = [];

/** An empty text says as little as a missing one: both are stored alike. */
const one = (value: string | undefined): readonly string[] => (value === undefined || value === "" ? NONE : [value]);
const many = (values: readonly (string | undefined)[] | undefined): readonly string[] =>
  values === undefined || values.length === 0
    ? NONE
    : values.flatMap((value) => (value === undefined || value === "" ? [] : [value]));

type TextOptions = Partial<Pick<TextField, "isDecoded" | "takes">>;

const text = (read: (observation: Taggable) => string | undefined, options: TextOptions = {}) =>
  ({
    type: "text",
    isDecoded: false,
    isList: false,
    read: (observation: Taggable) => one(read(observation)),
    ...options,
  }) as const satisfies TextField;
const texts = (
  read: (observation: Taggable) => readonly (string | undefined)[] | undefined,
  options: TextOptions = {},
) =>
  ({
    type: "text",
    isDecoded: false,
    isList: true,
    read: (observation: Taggable) => many(read(observation)),
    ...options,
  }) as const satisfies TextField;
const number = (max: number, read: (observation: Taggable) => number | undefined) =>
  ({ type: "number", max, read }) as const;
const decoded = { isDecoded: true } as const;

function uriOf({ http }: Taggable): string | undefined {
  if (http === undefined) return undefined;
  return http.query === undefined || http.query === "" ? http.path : `${http.path ?? ""}?${http.query}`;
}

const PORTS = 65_535;

type Field = TextField | NumberField | AddressField;

/** Every field that a rule can name, and where an observation has it. */
export const FIELDS = {
  transport: text(({ transport }) => transport, {
    takes: { pattern: new RegExp(`^(?:${TRANSPORTS.join("|")})$`, "i"), description: TRANSPORTS.join(", ") },
  }),
  source_port: number(PORTS, ({ source_port }) => source_port),
  destination_port: number(PORTS, ({ destination_port }) => destination_port),
  application: text(({ application }) => application),
  method: text(({ http }) => http?.method),
  path: text(({ http }) => http?.path, decoded),
  query: text(({ http }) => http?.query, decoded),
  uri: text(uriOf, decoded),
  host: text(({ http }) => http?.host, decoded),
  user_agent: text(({ http }) => http?.user_agent, decoded),
  referer: text(({ http }) => http?.referer, decoded),
  header: texts(({ http }) => http?.headers),
  cookie: texts(({ http }) => http?.cookies),
  header_line: texts(({ http }) => http?.header_lines, decoded),
  body: text(({ http }) => http?.body, decoded),
  ja3: text(({ tls }) => tls?.ja3),
  ja4: text(({ tls }) => tls?.ja4),
  hassh: text(({ ssh }) => ssh?.hassh),
  ssh_banner: text(({ ssh }) => ssh?.banner),
  username: texts(({ credentials }) => credentials?.map(({ username }) => username)),
  password: texts(({ credentials }) => credentials?.map(({ password }) => password)),
  login_attempts: number(1_000_000, ({ login_attempts }) => login_attempts),
  command: texts(({ commands }) => commands, decoded),
  url: texts(({ urls }) => urls, decoded),
  payload_sha256: texts(({ payload_sha256 }) => payload_sha256, {
    takes: { pattern: /^[0-9a-f]{64}$/i, description: "64 hexadecimal digits" },
  }),
  label: texts(({ labels }) => labels),
  source_ip: { type: "address", read: ({ source_ip }) => (source_ip && isIpv4(source_ip) ? source_ip : undefined) },
  asn: number(4_294_967_295, ({ asn }) => asn),
  organization: text(({ organization }) => organization),
  country: text(({ country }) => country, {
    takes: { pattern: /^[a-z]{2}$/i, description: "two letters, ISO 3166-1 alpha-2" },
  }),
  rdns: text(({ rdns }) => rdns),
  validated_rdns: text(({ rdns, rdns_validated }) => (rdns_validated ? rdns : undefined)),
  sensor: text(({ sensor_id }) => sensor_id),
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
