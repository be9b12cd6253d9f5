import { atomHolds, holds } from "./holds.ts";
import type { TaggedEvent } from "./matching/event.ts";
import type { Atom, Clause, Expression, TaggingRule } from "./rule.ts";

/** A field of a rule that holds, and why. */
export type HeldClause = {
  /** As the rule has it, like `path|endswith`. */
  readonly key: string;
  /** The rule's values that fit. */
  readonly values: readonly string[];
  /** The observation's, in the form that was compared. */
  readonly found: readonly string[];
};

export type MissingClause = {
  readonly key: string;
  /** The rule's values, of which none fits, or with |all those that do not; after a "not", those that do. */
  readonly values: readonly string[];
  /** The observation's, empty when it has none. */
  readonly found: readonly string[];
  /** It holds, and must not. */
  readonly isExcluded: boolean;
};

export type Explanation = {
  readonly matched: readonly { readonly slug: string; readonly clauses: readonly HeldClause[] }[];
  /** Rules of which one clause fails and a rare one holds; those with the most clauses that hold come first. */
  readonly almost: readonly {
    readonly slug: string;
    readonly missing: MissingClause;
    readonly clauses: readonly HeldClause[];
  }[];
};

/** Explains which rules match an event, and which would if one clause more held. For people: it tries every rule. */
export function explainRules(rules: readonly TaggingRule[], event: TaggedEvent): Explanation {
  const measured = rules
    .map(({ slug, match }) => ({ slug, ...measure(match, event) }))
    .toSorted((one, other) => (one.slug < other.slug ? -1 : 1));
  return {
    matched: measured.filter(({ missing }) => missing.length === 0).map(({ slug, held }) => ({ slug, clauses: held })),
    almost: measured
      .flatMap(({ slug, held, missing: [missing, ...more] }) =>
        missing === undefined || more.length > 0 || weightOf(held) < 1 ? [] : [{ slug, missing, clauses: held }],
      )
      .toSorted((one, other) => weightOf(other.clauses) - weightOf(one.clauses)),
  };
}

/** What holds of an expression, and the fewest clauses that would have to change for all of it to hold. */
type Measure = { readonly held: readonly HeldClause[]; readonly missing: readonly MissingClause[] };

function measure(expression: Expression, event: TaggedEvent): Measure {
  switch (expression.kind) {
    case "clause":
      return measureClause(expression, event);
    case "and": {
      const parts = expression.parts.map((part) => measure(part, event));
      return { held: parts.flatMap(({ held }) => held), missing: parts.flatMap(({ missing }) => missing) };
    }
    case "or": {
      const parts = expression.parts.map((part) => measure(part, event));
      const holding = parts.filter(({ missing }) => missing.length === 0);
      if (holding.length > 0) return { held: holding.flatMap(({ held }) => held), missing: [] };
      return parts.reduce((best, part) => (part.missing.length < best.missing.length ? part : best));
    }
    case "not": {
      if (!holds(expression.part, event)) return { held: [], missing: [] };
      const { held } = measure(expression.part, event);
      const [first] = held;
      const { key, values, found } = first ?? { key: "not", values: [], found: [] };
      return { held: [], missing: [{ key, values, found, isExcluded: true }] };
    }
  }
}

function measureClause(clause: Clause, event: TaggedEvent): Measure {
  const { key, needs, atoms } = clause;
  const found = foundBy(clause, event);
  const fitting = atoms.filter((atom) => atomHolds(atom, event));
  const isHeld = needs === "any" ? fitting.length > 0 : fitting.length === atoms.length;
  if (isHeld) return { held: [{ key, values: fitting.map(formatAtom), found }], missing: [] };
  const otherAtoms = atoms.filter((atom) => !fitting.includes(atom));
  return { held: [], missing: [{ key, values: otherAtoms.map(formatAtom), found, isExcluded: false }] };
}

/** A body has 4 KiB. */
const MAX_SHOWN = 200;

/** The values of the observation that a clause looks at, in the form that it compares. */
export function foundBy({ atoms: [atom] }: Clause, event: TaggedEvent): readonly string[] {
  return atom === undefined ? [] : valuesFor(atom, event).map((value) => String(value).slice(0, MAX_SHOWN));
}

function valuesFor(atom: Atom, event: TaggedEvent): readonly (string | number)[] {
  if (atom.kind === "text" || atom.kind === "wildcard" || atom.kind === "regex") {
    return event.texts(atom.field, atom.form);
  }
  const value = event.value(atom.kind === "network" ? "source_ip" : atom.field);
  if (value === undefined) return [];
  return typeof value === "object" ? value : [value];
}

/** A value of a rule, as the rule has it but for its case. */
export function formatAtom(atom: Atom): string {
  switch (atom.kind) {
    case "text":
      return atom.text;
    case "wildcard":
    case "network":
      return atom.source;
    case "regex":
      return atom.regex.source;
    case "number":
      return String(atom.value);
    case "exists":
      return "true";
  }
}

/** Nearly every observation has these, so having them is no sign that a rule is close. */
const ORDINARY = /^(?:transport|method|application|country)\b|^(?:source|destination)_port\||\|exists$/;

function weightOf(clauses: readonly HeldClause[]): number {
  return clauses.reduce((sum, { key }) => sum + (ORDINARY.test(key) ? 0.01 : 1), 0);
}
