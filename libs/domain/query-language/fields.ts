import { SEARCHED_MEMBERS, type SearchedMember, TRANSPORTS } from "../observation/members.ts";
import { editDistance } from "../text/edit-distance.ts";
import type { BooleanField, RangeField, TextField, WordsField } from "./query.ts";

/** How the values of a field are compared. */
export type FieldKind =
  | { readonly kind: "address"; readonly field: "ip" }
  | {
      readonly kind: "number";
      readonly field: RangeField;
      readonly prefix?: string;
      readonly values?: readonly number[];
    }
  | { readonly kind: "time"; readonly field: RangeField }
  /** On how many of the last days an address was seen. */
  | { readonly kind: "days" }
  | { readonly kind: "words"; readonly field: WordsField }
  | {
      readonly kind: "value";
      readonly field: TextField;
      readonly values?: readonly string[];
      /** To be suggested; others are no error. */
      readonly usual?: readonly string[];
    }
  /** Members of rows that are the same for every address have no field. */
  | { readonly kind: "boolean"; readonly field?: BooleanField; readonly always?: boolean }
  /** Names of the hosted service, and members of rows, by which no address is found here. */
  | { readonly kind: "without-values" };

const words = (field: WordsField): FieldKind => ({ kind: "words", field });
const value = (field: TextField, values?: readonly string[]): FieldKind =>
  values === undefined ? { kind: "value", field } : { kind: "value", field, values };
const time = (field: RangeField): FieldKind => ({ kind: "time", field });
const number = (field: RangeField): FieldKind => ({ kind: "number", field });

function kindOf(member: SearchedMember): FieldKind {
  switch (member.kind) {
    case "words":
      return words(member.field);
    case "value":
      return member.field === "protocol"
        ? { kind: "value", field: "protocol", usual: TRANSPORTS }
        : value(member.field);
    case "number":
      return member.field === "asn" ? { kind: "number", field: "asn", prefix: "AS" } : number(member.field);
  }
}

/** Every field by its names, the first of which is the hosted service's. */
const FIELDS: readonly (readonly [names: string, kind: FieldKind])[] = [
  ["ip", { kind: "address", field: "ip" }],
  ["classification", value("classification", ["malicious", "suspicious", "benign", "unknown"])],
  ["tags tag tags.name tags.slug tags.id", value("tag")],
  ["cve cves tags.cves", value("cve")],
  ["actor", words("actor")],
  ...SEARCHED_MEMBERS.map((member): readonly [string, FieldKind] => [member.names, kindOf(member)]),
  ["metadata.category category", value("category")],
  ["metadata.sensor_hits", number("sensor_hits")],
  ["metadata.sensor_count", number("sensor_count")],
  ["first_seen", time("first_seen")],
  ["last_seen last_seen_timestamp", time("last_seen")],
  ["seen_on", { kind: "days" }],
  ["last_seen_malicious", time("last_seen_malicious")],
  ["last_seen_suspicious", time("last_seen_suspicious")],
  ["last_seen_benign", time("last_seen_benign")],
  ["riot business_service_intelligence.found", { kind: "boolean", field: "riot" }],
  [
    "trust_level business_service_intelligence.trust_level",
    { kind: "number", field: "trust_level", values: [1, 2, 3] },
  ],
  ["spoofable", { kind: "boolean", field: "spoofable" }],
  ["found seen", { kind: "boolean", always: true }],
  ...["vpn", "tor metadata.tor", "bot", "metadata.mobile", "metadata.single_destination"].map(
    (names): readonly [string, FieldKind] => [names, { kind: "boolean", always: false }],
  ),
  ...[
    "metadata.os os",
    "metadata.datacenter",
    "metadata.carrier",
    "metadata.domain",
    "metadata.rdns_parent",
    "metadata.rdns_validated",
    "metadata.longitude",
    "metadata.latitude",
    "metadata.destination_countries destination_country metadata.destination_country",
    "metadata.destination_country_codes destination_country_code metadata.destination_country_code",
    "metadata.destination_cities destination_city metadata.destination_city",
    "metadata.destination_asns destination_asn metadata.destination_asn",
    "vpn_service",
    "callback_ips",
    ...["observed_at", "by", "destination_port", "sensor"].map((name) => `contact.${name}`),
    "tag_volumes",
    ...[
      "description",
      "category",
      "intention",
      "references",
      "recommend_block",
      "created",
      "created_at",
      "updated_at",
    ].map((name) => `tags.${name}`),
    ...["name", "category", "description", "explanation", "last_updated", "reference"].map(
      (name) => `business_service_intelligence.${name}`,
    ),
    "raw_data.ja3.port",
    "raw_data.hassh.port",
    "raw_data.tls.cipher",
    "raw_data.ssh.key",
    "raw_data.http.md5",
    "raw_data.http.cookie_keys",
    "raw_data.http.request_authorization",
    "raw_data.http.request_cookies",
    "raw_data.http.request_header",
    "raw_data.http.request_origin",
    "raw_data.source.bytes",
  ].map((names): readonly [string, FieldKind] => [names, { kind: "without-values" }]),
];

/** The kinds by each name, and by each last part of one, like `organization`; several if that is ambiguous. */
const BY_NAME = new Map<string, readonly (readonly [name: string, kind: FieldKind])[]>();
for (const [names, kind] of FIELDS) for (const name of names.split(" ")) BY_NAME.set(name, [[name, kind]]);
for (const [names, kind] of FIELDS) {
  for (const name of names.split(" ")) {
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      const part = name.slice(dot + 1);
      const known = BY_NAME.get(part) ?? [];
      const isTaken = known.some(([full, one]) => full === part || one === kind);
      if (!isTaken) BY_NAME.set(part, [...known, [name, kind]]);
    }
  }
}

/** The part of a row that most fields are in: it may stand before their names. */
const SCANNER_PART = "internet_scanner_intelligence.";

const fieldsNamed = (name: string) => {
  const lower = name.toLowerCase();
  return BY_NAME.get(lower.startsWith(SCANNER_PART) ? lower.slice(SCANNER_PART.length) : lower) ?? [];
};

/** The kind of the field with a name; undefined where no field has it, or several have. */
export function fieldNamed(name: string): FieldKind | undefined {
  const [only, other] = fieldsNamed(name);
  return other === undefined ? only?.[1] : undefined;
}

/**
 * @param isSuggesting whether the message names the nearest field, which takes a while to find.
 * @returns the kind of the field with a name, or the error message for a name that no field has.
 */
export function findField(name: string, isSuggesting = true): FieldKind | { readonly message: string } {
  const found = fieldsNamed(name);
  const [only, other] = found;
  if (only !== undefined && other === undefined) return only[1];
  if (only !== undefined)
    return { message: `${name} may be ${found.map(([full]) => full).join(" or ")}: write more of it` };
  const shown = JSON.stringify(name.slice(0, 64));
  const nearest = isSuggesting ? nearestOf(name.toLowerCase()) : undefined;
  return {
    message: `no field is called ${shown}.${nearest === undefined ? "" : ` Did you mean ${JSON.stringify(nearest)}?`}`,
  };
}

/** A field that has values here, with the name that is quickest to type, and all that it may be called. */
export type ListedField = { readonly name: string; readonly names: readonly string[]; readonly kind: FieldKind };

export const LISTED_FIELDS: readonly ListedField[] = FIELDS.flatMap(([text, kind]) => {
  if (kind.kind === "without-values" || (kind.kind === "boolean" && kind.field === undefined)) return [];
  const names = text.split(" ");
  const [full = ""] = names;
  const last = full.slice(full.lastIndexOf(".") + 1);
  const name = names.find((one) => !one.includes(".")) ?? ("kind" in findField(last) ? last : full);
  return [{ name, names: [...new Set([name, ...names])], kind }];
});

/** A typing error has at most so many letters in it. */
const mostEdits = (length: number) => (length >= 8 ? 3 : length >= 5 ? 2 : 1);

function nearestOf(name: string): string | undefined {
  const maxEdits = mostEdits(name.length);
  // The lengths alone rule most names out.
  const [nearest] = [...BY_NAME.keys()]
    .filter((known) => Math.abs(known.length - name.length) <= maxEdits)
    .map((known) => ({ known, distance: editDistance(name, known) }))
    .toSorted((one, other) => one.distance - other.distance);
  return nearest !== undefined && nearest.distance <= maxEdits ? nearest.known : undefined;
}
