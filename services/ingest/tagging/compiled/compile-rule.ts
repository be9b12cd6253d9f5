import type { Atom, Expression } from "../rule.ts";
import type { SignalBuilder } from "./signals.ts";

/** A rule's expression over signals. Whatever is costly comes last among the parts of an AND or OR. */
export type Program =
  /** Holds when one of the signals does, or all. */
  | { readonly kind: "any" | "all"; readonly signals: Uint32Array }
  /** Tested only when one of its signals holds, and once an event. */
  | { readonly kind: "test"; readonly atom: Atom; readonly signals: Uint32Array; readonly test: number }
  | { readonly kind: "and" | "or"; readonly parts: readonly Program[] }
  | { readonly kind: "not"; readonly part: Program };

/** Signals of which at least one holds whenever the rule does. */
export type Trigger = { readonly signals: ReadonlySet<number>; readonly rarity: number };

export type CompiledRule = {
  readonly program: Program;
  /** Undefined: the rule has to be evaluated for every event. */
  readonly trigger: Trigger | undefined;
  readonly cost: number;
};

export type RuleCompiler = {
  readonly signals: SignalBuilder;
  /** The number of a test; the same comparison has the same number in all rules. */
  testNumber(atom: TestedAtom): number;
};

/** An atom that the signals alone do not decide. */
type TestedAtom = Exclude<Atom, { kind: "exists" | "network" | "text" }>;

const COSTS = { signals: 0, number: 1, wildcard: 2, regexAfterLiteral: 3, regex: 4 } as const;

export function compileRule(expression: Expression, compiler: RuleCompiler): CompiledRule {
  switch (expression.kind) {
    case "clause":
      return combine(
        expression.needs === "all" ? "and" : "or",
        expression.atoms.map((atom) => compileAtom(atom, compiler)),
      );
    case "and":
    case "or":
      return combine(
        expression.kind,
        expression.parts.map((part) => compileRule(part, compiler)),
      );
    case "not": {
      const { program, cost } = compileRule(expression.part, compiler);
      return { program: { kind: "not", part: program }, trigger: undefined, cost };
    }
  }
}

function combine(kind: "and" | "or", parts: readonly CompiledRule[]): CompiledRule {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const joined = kind === "and" ? "all" : "any";
  const signals = new Set<number>();
  const programs: Program[] = [];
  for (const { program } of parts.toSorted((one, other) => one.cost - other.cost)) {
    const isFlat = program.kind === "any" || program.kind === "all";
    if (!isFlat || (program.kind !== joined && program.signals.length > 1)) programs.push(program);
    else for (const signal of program.signals) signals.add(signal);
  }
  const flat: Program = { kind: joined, signals: Uint32Array.from(signals) };
  return {
    program: programs.length === 0 ? flat : { kind, parts: signals.size === 0 ? programs : [flat, ...programs] },
    trigger: kind === "and" ? rarest(parts) : anyOf(parts),
    cost: Math.max(0, ...parts.map(({ cost }) => cost)),
  };
}

/** All parts hold, so any one's trigger will do: the one that the fewest events have. */
function rarest(parts: readonly CompiledRule[]): Trigger | undefined {
  let best: Trigger | undefined;
  for (const { trigger } of parts) if (trigger !== undefined && trigger.rarity > (best?.rarity ?? -1)) best = trigger;
  return best;
}

/** One of the parts holds, nobody knows which. */
function anyOf(parts: readonly CompiledRule[]): Trigger | undefined {
  const signals = new Set<number>();
  let rarity = Number.POSITIVE_INFINITY;
  for (const { trigger } of parts) {
    if (trigger === undefined) return undefined;
    for (const signal of trigger.signals) signals.add(signal);
    rarity = Math.min(rarity, trigger.rarity);
  }
  return { signals, rarity };
}

function compileAtom(atom: Atom, compiler: RuleCompiler): CompiledRule {
  const { signals } = compiler;
  switch (atom.kind) {
    case "text":
      return bySignal(signals.text(atom.field, atom.form, atom.operator, atom.text), rarityOf(atom.field, atom.text));
    case "network":
      return bySignal(signals.network(atom.first, atom.last), RARITIES.value);
    case "exists":
      return bySignal(signals.exists(atom.field), RARITIES.presence);
    case "number": {
      if (atom.operator === "equals") return bySignal(signals.number(atom.field, atom.value), RARITIES.value);
      return byTest(atom, [signals.exists(atom.field)], RARITIES.presence, COSTS.number, compiler);
    }
    case "wildcard": {
      const { literal } = atom.pattern;
      const signal =
        literal === "" ? signals.exists(atom.field) : signals.text(atom.field, atom.form, "contains", literal);
      return byTest(atom, [signal], rarityOf(atom.field, literal), COSTS.wildcard, compiler);
    }
    case "regex": {
      const { literals } = atom.regex;
      if (literals.length === 0)
        return byTest(atom, [signals.exists(atom.field)], RARITIES.presence, COSTS.regex, compiler);
      const literalSignals = literals.map((literal) => signals.text(atom.field, atom.form, "contains", literal));
      const rarity = Math.min(...literals.map((literal) => rarityOf(atom.field, literal)));
      return byTest(atom, literalSignals, rarity, COSTS.regexAfterLiteral, compiler);
    }
  }
}

function bySignal(signal: number, rarity: number): CompiledRule {
  return {
    program: { kind: "any", signals: Uint32Array.of(signal) },
    trigger: { signals: new Set([signal]), rarity },
    cost: COSTS.signals,
  };
}

function byTest(
  atom: TestedAtom,
  signals: readonly number[],
  rarity: number,
  cost: number,
  { testNumber }: RuleCompiler,
): CompiledRule {
  return {
    program: { kind: "test", atom, signals: Uint32Array.from(signals), test: testNumber(atom) },
    trigger: { signals: new Set(signals), rarity },
    cost,
  };
}

/** A guess, for choosing among the triggers of a rule. A wrong guess costs time only. */
const RARITIES = { presence: 0, common: 1, value: 4 } as const;
/** Fields with few values, which many events share. */
const COMMON = new Set<string>(["transport", "method", "application", "country"]);

function rarityOf(field: string, text: string): number {
  if (text === "") return RARITIES.presence;
  return COMMON.has(field) ? RARITIES.common : RARITIES.common + Math.min(text.length, 32) / 4;
}
