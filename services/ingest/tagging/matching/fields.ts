import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { Member } from "@noisefloor/domain/observation/member.ts";
import { HTTP, MEMBERS, namesOf, SSH, TLS, TRANSPORTS } from "@noisefloor/domain/observation/members.ts";
import { MAX_LOGIN_ATTEMPTS, type WireObservation } from "@noisefloor/domain/observation/schema.ts";

export type MemberName = keyof WireObservation;

/** What rules look at: an observation, of which any member may be missing. */
export type Taggable = { readonly [Name in MemberName]?: WireObservation[Name] | undefined };

type TextField = {
  readonly type: "text";
  /** The member of an observation that has it: without this member, the field has no value. */
  readonly member: MemberName;
  /** Whether its normal form is URL-decoded. */
  readonly isDecoded: boolean;
  /** Whether an observation may have several. */
  readonly isList: boolean;
  readonly read: (observation: Taggable) => readonly string[];
  /** The form that all its values have; a rule that asks for another could never match. */
  readonly takes: { readonly pattern: RegExp; readonly description: string } | undefined;
};

type NumberField = {
  readonly type: "number";
  readonly member: MemberName;
  readonly max: number;
  readonly read: (observation: Taggable) => number | undefined;
};

type AddressField = {
  readonly type: "address";
  readonly member: MemberName;
  readonly read: (observation: Taggable) => string | undefined;
};

const NONE: readonly string[] = [];

/** An empty text says as little as a missing one: both are stored alike. */
const one = (value: string | undefined): readonly string[] => (value === undefined || value === "" ? NONE : [value]);
const many = (values: readonly (string | undefined)[] | undefined): readonly string[] =>
  values === undefined || values.length === 0
    ? NONE
    : values.flatMap((value) => (value === undefined || value === "" ? [] : [value]));

/** The forms that all values of some types of members have. */
const FORMS: Partial<Record<Member["type"], TextField["takes"]>> = {
  ip_protocol: { pattern: new RegExp(`^(?:${TRANSPORTS.join("|")})$`, "i"), description: TRANSPORTS.join(", ") },
  digests: { pattern: /^[0-9a-f]{64}$/i, description: "64 hexadecimal digits" },
  country_code: { pattern: /^[a-z]{2}$/i, description: "two letters, ISO 3166-1 alpha-2" },
};
const MAX_NUMBERS = { port: 65_535, count: MAX_LOGIN_ATTEMPTS, as_number: 4_294_967_295 } as const;

type Named<Name extends string, Field> = readonly (readonly [name: Name, field: Field])[];

/** The fields of rules that a member has. */
const texts = <Name extends string>(
  member: MemberName,
  { rules, type, isDecoded = false }: Pick<Member, "type" | "isDecoded"> & { readonly rules?: readonly Name[] },
  isList: boolean,
  read: TextField["read"],
): Named<Name, TextField> => {
  const field: TextField = { type: "text", member, isDecoded, isList, read, takes: FORMS[type] };
  return (rules ?? []).map((rule) => [rule, field]);
};

type Login = { readonly username?: string | undefined; readonly password?: string | undefined };
const LOGIN_TEXTS = {
  username: ({ username }: Login) => username,
  password: ({ password }: Login) => password,
  credential: ({ username = "", password = "" }: Login) =>
    username === "" && password === "" ? undefined : `${username}/${password}`,
} as const;

function uriOf({ http }: Taggable): string | undefined {
  if (http === undefined) return undefined;
  return http.query === undefined || http.query === "" ? http.path : `${http.path ?? ""}?${http.query}`;
}

/** The fields that are texts: those of members, and two that are made of several. */
const TEXTS = [
  ...namesOf(MEMBERS, "ip_protocol", "protocol_name", "text", "country_code").flatMap((name) =>
    texts(name, MEMBERS[name], false, (observation) => one(observation[name])),
  ),
  ...namesOf(HTTP, "text", "body").flatMap((name) => texts("http", HTTP[name], false, ({ http }) => one(http?.[name]))),
  ...texts("http", { type: "text", rules: ["uri"], isDecoded: true }, false, (observation) => one(uriOf(observation))),
  ...namesOf(HTTP, "texts", "lines").flatMap((name) =>
    texts("http", HTTP[name], true, ({ http }) => many(http?.[name])),
  ),
  ...namesOf(TLS, "text").flatMap((name) => texts("tls", TLS[name], false, ({ tls }) => one(tls?.[name]))),
  ...namesOf(SSH, "text").flatMap((name) => texts("ssh", SSH[name], false, ({ ssh }) => one(ssh?.[name]))),
  ...MEMBERS.credentials.rules.flatMap((name) =>
    texts("credentials", { type: "logins", rules: [name] }, true, ({ credentials }) =>
      many(credentials?.map(LOGIN_TEXTS[name])),
    ),
  ),
  ...namesOf(MEMBERS, "texts", "digests", "identifiers").flatMap((name) =>
    texts(name, MEMBERS[name], true, (observation) => many(observation[name])),
  ),
  ...texts("rdns", { type: "text", rules: ["validated_rdns"] }, false, ({ rdns, rdns_validated }) =>
    one(rdns_validated ? rdns : undefined),
  ),
  ...texts("sensor_id", MEMBERS.sensor_id, false, ({ sensor_id }) => one(sensor_id)),
];

const NUMBERS = namesOf(MEMBERS, "port", "count", "as_number").flatMap((name) => {
  const { rules, type } = MEMBERS[name];
  const field: NumberField = {
    type: "number",
    member: name,
    max: MAX_NUMBERS[type],
    read: (observation) => observation[name],
  };
  return rules.map((rule) => [rule, field] as const);
});

export const SOURCE_IP: AddressField = {
  type: "address",
  member: "source_ip",
  read: ({ source_ip }) => (source_ip && isIpv4(source_ip) ? source_ip : undefined),
};

const ALL = [...TEXTS, ...NUMBERS, ["source_ip", SOURCE_IP] as const];
const NAMES: ReadonlySet<string> = new Set(ALL.map(([name]) => name));

export type TextFieldName = (typeof TEXTS)[number][0];
export type NumberFieldName = (typeof NUMBERS)[number][0];
export type FieldName = (typeof ALL)[number][0];

export function isFieldName(name: string): name is FieldName {
  return NAMES.has(name);
}

export function fieldNames(): readonly FieldName[] {
  return ALL.map(([name]) => name);
}

const find = <Name extends string, Field>(fields: Named<Name, Field>) => {
  const byName = new Map<string, Field>(fields);
  return (name: Name): Field => {
    const field = byName.get(name);
    if (field === undefined) throw new Error(`there is no field ${name}`);
    return field;
  };
};
/** The field of rules with a name, and where an observation has it. */
export const fieldOf = find<FieldName, TextField | NumberField | AddressField>(ALL);
export const textField = find<TextFieldName, TextField>(TEXTS);
export const numberField = find<NumberFieldName, NumberField>(NUMBERS);
