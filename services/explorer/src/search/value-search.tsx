import type { SearchedMember } from "@noisefloor/domain/observation/members.ts";
import { writeValue } from "@noisefloor/domain/query-language/completion/complete.ts";
import { LISTED_FIELDS } from "@noisefloor/domain/query-language/fields.ts";
import { searchPath } from "../routing/paths.ts";
import { Hostile } from "../text/hostile.tsx";

/** The fields of the search language that pages show values of. */
export type SearchedField = SearchedMember["field"] | "classification" | "cve" | "ip" | "spoofable" | "tag";

const nameOf = (searched: SearchedField) =>
  LISTED_FIELDS.find(({ kind }) => "field" in kind && kind.field === searched)?.name ?? searched;

/** The condition that an address has a value, which stands for itself whatever is in it. */
export const conditionOn = (field: SearchedField, value: string) => `${nameOf(field)}:${writeValue(value)}`;

/** The search for all addresses that have a value. */
export const valuePath = (field: SearchedField, value: string) => searchPath(conditionOn(field, value));

/** A link to the search for a port, with its protocol where that is known. */
export function portPath(port: number | string, protocol = ""): string {
  return searchPath(protocol === "" ? `port:${port}` : `port:${port} protocol:${protocol}`);
}

type ValueLinkProps = {
  readonly field: SearchedField;
  readonly value: string;
  /** What is shown; the value by default. */
  readonly text?: string;
};

/** A value as a link to its search; nothing for an empty one. */
export function ValueLink({ field, value, text = value }: ValueLinkProps) {
  if (value.trim() === "") return null;
  return (
    <a href={valuePath(field, value)}>
      <Hostile text={text} />
    </a>
  );
}

type SearchLinkProps = {
  readonly field: SearchedField;
  readonly value: string;
  /** How many days back observations count; empty for all that is stored. */
  readonly days?: string;
};

/** From the page of a value to its search, where conditions can be added. */
export function SearchLink({ field, value, days = "" }: SearchLinkProps) {
  return <a href={searchPath(conditionOn(field, value), days)}>Search these addresses</a>;
}
