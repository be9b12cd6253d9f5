import type { Wildcard } from "./query.ts";

/** A place in the text of a query, in UTF-16 units from 0. */
export type Place = { readonly position: number; readonly length: number };

/** What the grammar makes of a text, before anybody knows what its fields are. */
export type SyntaxTree =
  | { readonly type: "and" | "or"; readonly of: readonly SyntaxTree[] }
  | { readonly type: "not"; readonly of: SyntaxTree }
  | (Place & { readonly type: "group"; readonly name: string; readonly of: SyntaxTree })
  | ConditionTree;

export type ConditionTree = Place & {
  readonly type: "condition";
  readonly field?: Place & { readonly name: string };
  readonly value: ValueTree;
};

export type ValueTree = WordTree | RangeTree | ComparisonTree;

/** A word or a quoted text; as a pattern, texts with wildcards between them. */
export type WordTree =
  | (Place & {
      readonly type: "text";
      readonly text: string;
      readonly isQuoted: boolean;
      /** A quoted text with stars as a pattern. */
      readonly parts?: readonly (string | Wildcard)[];
    })
  | (Place & { readonly type: "pattern"; readonly parts: readonly (string | Wildcard)[] });

export type RangeTree = Place & {
  readonly type: "range";
  readonly from: WordTree;
  readonly to: WordTree;
  readonly isFromIn: boolean;
  readonly isToIn: boolean;
};

export type ComparisonTree = Place & {
  readonly type: "comparison";
  readonly sign: "<" | "<=" | ">" | ">=";
  readonly bound: WordTree;
};
