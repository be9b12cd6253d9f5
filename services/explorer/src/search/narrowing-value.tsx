import type { ComponentChildren } from "preact";
import { searchPath } from "../routing/paths.ts";
import { Hostile } from "../text/hostile.tsx";
import { exclude, narrow } from "./narrow.ts";
import { conditionOn, type SearchedField } from "./value-search.tsx";

/** A search, and how many days back its observations count; empty for all. */
export type Search = { readonly query: string; readonly days: string };

type NarrowingValueProps = {
  readonly search: Search;
  readonly condition: string;
  readonly text: string;
  /** What is shown; the text by default. */
  readonly children?: ComponentChildren;
};

/** A value among the answers to a search. It narrows the search; the links beside it exclude it, or search for it alone. */
export function NarrowingValue({ search: { query, days }, condition, text, children }: NarrowingValueProps) {
  const others = [
    ["not", exclude(query, condition)],
    ["only", condition],
  ] as const;
  return (
    <span class="value">
      <a href={searchPath(narrow(query, condition), days)}>{children ?? <Hostile text={text} />}</a>
      <span class="instead">
        {others.map(([word, other]) => (
          <a key={word} href={searchPath(other, days)}>
            {word}
            <span class="hidden">
              {" "}
              <Hostile text={text} />
            </span>
          </a>
        ))}
      </span>
    </span>
  );
}

type FieldValueProps = Pick<NarrowingValueProps, "search" | "children"> & {
  readonly field: SearchedField;
  readonly value: string;
  readonly text?: string;
};

/** The same for the value of a field; nothing for an empty one. */
export function FieldValue({ field, value, text = value, ...shown }: FieldValueProps) {
  return value.trim() === "" ? null : <NarrowingValue {...shown} condition={conditionOn(field, value)} text={text} />;
}
