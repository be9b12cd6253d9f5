import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";
import type { FieldName, NumberFieldName, TextFieldName } from "./matching/fields.ts";
import type { Regex } from "./matching/regex.ts";
import type { TextForm } from "./matching/text-form.ts";
import type { WildcardPattern } from "./matching/wildcard.ts";

/** How a text atom compares. */
export const TEXT_OPERATORS = ["equals", "contains", "startswith", "endswith"] as const;
export type TextOperator = (typeof TEXT_OPERATORS)[number];

export const NUMBER_OPERATORS = ["equals", "lt", "lte", "gt", "gte"] as const;
export type NumberOperator = (typeof NUMBER_OPERATORS)[number];

/** One comparison of a field with one value. */
export type Atom =
  | {
      readonly kind: "text";
      readonly field: TextFieldName;
      readonly form: TextForm;
      readonly operator: TextOperator;
      /** In the case of the form. */
      readonly text: string;
    }
  | {
      readonly kind: "wildcard";
      readonly field: TextFieldName;
      readonly form: TextForm;
      readonly source: string;
      readonly pattern: WildcardPattern;
    }
  | { readonly kind: "regex"; readonly field: TextFieldName; readonly form: TextForm; readonly regex: Regex }
  | {
      readonly kind: "number";
      readonly field: NumberFieldName;
      readonly operator: NumberOperator;
      readonly value: number;
    }
  /** Addresses from `first` to `last`, as numbers of 32 bits. */
  | {
      readonly kind: "network";
      readonly source: string;
      readonly first: number;
      readonly last: number;
    }
  | { readonly kind: "exists"; readonly field: FieldName };

/** A field of a rule with its values: it holds when one of its atoms does, or all of them. */
export type Clause = {
  readonly kind: "clause";
  /** As the rule has it, like `path|endswith`. */
  readonly key: string;
  readonly needs: "any" | "all";
  readonly atoms: readonly Atom[];
};

/** What a rule asks of an observation. */
export type Expression =
  | Clause
  | { readonly kind: "and" | "or"; readonly parts: readonly Expression[] }
  | { readonly kind: "not"; readonly part: Expression };

/** A rule: the observations that earn a tag. */
export type TaggingRule = {
  readonly slug: string;
  readonly match: Expression;
  readonly examples: readonly WireObservation[];
  readonly counterexamples: readonly WireObservation[];
};

/** What is wrong with a file. A warning leaves its rule in use. */
export type RuleProblem = {
  /** As the caller named it. */
  readonly file: string;
  readonly severity: "error" | "warning";
  /** Says what is wrong, where, and what is allowed. */
  readonly message: string;
};
