import type { SearchedMember } from "../observation/members.ts";

/** The longest text of a query, in characters. */
export const MAX_QUERY_LENGTH = 8_192;
export const MAX_CONDITIONS = 500;

/** A search: which addresses are wanted, by what is stored of each. */
export type Query =
  | { readonly type: "and" | "or"; readonly of: readonly Query[] }
  | { readonly type: "not"; readonly of: Query }
  | Condition;

export type Condition =
  /** The same for every address: of what the hosted service has and nobody stores here. */
  | { readonly type: "constant"; readonly value: boolean }
  /** Whether there is any value. */
  | { readonly type: "exists"; readonly field: Field }
  /** Numbers, ports, addresses as numbers, and times in milliseconds, both ends included; infinite ends are open. */
  | { readonly type: "range"; readonly field: RangeField; readonly first: number; readonly last: number }
  /** Seen on at least so many UTC days since a time in milliseconds. */
  | { readonly type: "seen-on"; readonly minDays: number; readonly firstDay: number }
  /** Contacts at a port over one transport. */
  | { readonly type: "port-protocol"; readonly first: number; readonly last: number; readonly protocol: string }
  /** The whole value, in lower case. */
  | { readonly type: "equals"; readonly field: TextField; readonly text: string }
  /** Words in lower case that stand one after the other in the value. */
  | { readonly type: "words"; readonly field: WordsField; readonly words: readonly string[] }
  /** The whole value. */
  | { readonly type: "matches"; readonly field: TextField | "any"; readonly pattern: Pattern }
  /** A text without a field: a whole classification, slug or CVE, or words in the name of a tag, actor or organisation. */
  | { readonly type: "any"; readonly text: string; readonly words: readonly string[] };

/** Texts in lower case, and between them wildcards: any characters, or any one. */
export type Pattern = readonly (string | Wildcard)[];
export type Wildcard = { readonly wildcard: "*" | "?" };

/** The fields of members that compare in some way. */
type MemberField<Kind> = Extract<SearchedMember, { readonly kind: Kind }>["field"];

export type RangeField =
  | MemberField<"number">
  | "ip"
  | "sensor_hits"
  | "sensor_count"
  | "trust_level"
  | "first_seen"
  | "last_seen"
  | "last_seen_malicious"
  | "last_seen_suspicious"
  | "last_seen_benign";
export type WordsField = MemberField<"words"> | "actor" | "any";
export type TextField =
  | MemberField<"value">
  | WordsField
  | "classification"
  | "tag"
  | "cve"
  | "category"
  | BooleanField;
/** Fields that are `true` or `false`. */
export type BooleanField = "riot" | "spoofable";
export type Field = RangeField | TextField;

/** What is wrong with a query: its place in UTF-16 units from 0. */
export type QueryError = { readonly message: string; readonly position: number; readonly length: number };

/** A text as a quoted value of the search language: it stands for itself, whatever is in it. */
export function quote(text: string): string {
  return `"${text.replace(/["\\*]/g, "\\$&")}"`;
}
