import type { Member } from "@noisefloor/domain/observation/member.ts";
import {
  byName,
  type FewValuedField,
  SEARCHED_MEMBERS,
  type SearchedMember,
  searchedAs,
} from "@noisefloor/domain/observation/members.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { IS_ATTACK } from "../client/attack-sql.ts";

/** The fields that are a member's values: those of the search language, but for what several members make. */
type MemberFacet = Exclude<SearchedMember, { readonly facet: string } | { readonly hasFewValues: true }>["field"];
export type FacetField = "seen" | "contact" | "tag" | "network" | "port" | MemberFacet;
/** Fields of the search language that are values of observations. */
export type ValueField = FacetField | FewValuedField;

/** SQL: the text of a login for a field, and whether it has one. */
const LOGIN_TEXTS: Readonly<Record<string, readonly [text: string, isThere: string]>> = {
  username: ["login.1", "login.1 != ''"],
  password: ["login.2", "login.2 != ''"],
  credential: ["concat(login.1, '/', login.2)", "login != ('', '')"],
};

/** SQL: the values of a member in lower case, without empty ones. */
function valuesOf(column: string, { type }: Member, field: string): string {
  if (type === "texts" || type === "digests") {
    return `arrayMap(text -> lowerUTF8(text), arrayFilter(text -> text != '', ${column}))`;
  }
  if (type === "callbacks") return `arrayMap(callback -> callback.1, ${column})`;
  const [text, isThere] = type === "logins" ? (LOGIN_TEXTS[field] ?? []) : [];
  return text === undefined
    ? `if(${column} = '', [], [lowerUTF8(${column})])`
    : `arrayMap(login -> lowerUTF8(${text}), arrayFilter(login -> ${isThere}, ${column}))`;
}

const isFacetMember = (
  member: SearchedMember,
): member is Exclude<SearchedMember, { facet: string } | { hasFewValues: true }> =>
  !("facet" in member || "hasFewValues" in member);

/**
 * The fields of `address_facets`, which are names of the search language: each with the SQL of its values over a row of
 * `observations`, an Array(String). The view of the table makes its rows by the same SQL, as a test checks.
 */
export const FACETS: Readonly<Record<FacetField, string>> = {
  /** Every observation has the empty value. */
  seen: "['']",
  /** The empty value, of an observation that proves contact. */
  contact: "if(established, [''], [])",
  /** UUIDs as texts, that of attacks too. */
  tag: `arrayConcat(arrayMap(tag -> toString(tag), tags), if(${IS_ATTACK}, ['${ATTACK_TAG_ID}'], []))`,
  /** `0000064500 Example Hosting`: the number in ten digits, and the organization as it was sent. */
  network: "if(asn = 0 AND organization = '', [], [concat(leftPad(toString(asn), 10, '0'), ' ', organization)])",
  /** `00023/tcp`: the number in five digits, and the transport, which may be empty. */
  port: `if(isNull(destination_port), [],
    [concat(leftPad(toString(assumeNotNull(destination_port)), 5, '0'), '/', transport)])`,
  ...byName(
    SEARCHED_MEMBERS.filter(isFacetMember).map(({ field }) => {
      const { column, member } = searchedAs(field);
      return [field, valuesOf(column, member, field)] as const;
    }),
  ),
};
