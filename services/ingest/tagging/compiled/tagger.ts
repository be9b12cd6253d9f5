import { type Explanation, explainRules } from "../explain.ts";
import { atomHolds } from "../holds.ts";
import { type TaggedEvent, toEvent } from "../matching/event.ts";
import type { Taggable } from "../matching/fields.ts";
import type { Atom, TaggingRule } from "../rule.ts";
import { compileRule, type Program } from "./compile-rule.ts";
import { signalBuilder } from "./signals.ts";

export type CompiledTagger = {
  /** The slugs of the rules that match, sorted. */
  tagsFor(observation: Taggable): readonly string[];
  explain(observation: Taggable): Explanation;
  /** How many rules were evaluated so far: those of which something necessary was found in an event. */
  evaluated(): number;
};

const NO_TAGS: readonly string[] = [];

/**
 * Compiles rules so that the time for an event hardly depends on their number: all texts, numbers and networks that
 * they ask for are looked for in one pass, and a rule is evaluated only when something was found without which it
 * cannot match.
 */
export function createTagger(rules: readonly TaggingRule[]): CompiledTagger {
  const builder = signalBuilder();
  const tests = new Map<string, number>();
  const testNumber = (atom: Atom) => {
    const key = testKey(atom);
    const number = tests.get(key) ?? tests.size;
    tests.set(key, number);
    return number;
  };
  const sorted = rules.toSorted((one, other) => (one.slug < other.slug ? -1 : one.slug > other.slug ? 1 : 0));
  const compiled = sorted.map(({ slug, match }) => ({ slug, ...compileRule(match, { signals: builder, testNumber }) }));
  const signals = builder.build();
  const triggers: number[][] = Array.from({ length: signals.count }, () => []);
  const always: number[] = [];
  for (const [rule, { trigger }] of compiled.entries()) {
    if (trigger === undefined) always.push(rule);
    else for (const signal of trigger.signals) triggers[signal]?.push(rule);
  }
  const rulesBySignal = triggers.map((list) => Uint32Array.from(list));

  // Numbering the events spares clearing what is known of the one before.
  let current = 0;
  let evaluated = 0;
  const signalSeen = new Float64Array(signals.count);
  const ruleSeen = new Float64Array(compiled.length);
  const testSeen = new Float64Array(tests.size);
  const testResult = new Uint8Array(tests.size);
  let candidates: number[] = [];

  const onSignal = (signal: number) => {
    if (signalSeen[signal] === current) return;
    signalSeen[signal] = current;
    const triggered = rulesBySignal[signal];
    if (triggered === undefined) return;
    for (const rule of triggered) {
      if (ruleSeen[rule] === current) continue;
      ruleSeen[rule] = current;
      candidates.push(rule);
    }
  };
  const isSeen = (signal: number) => signalSeen[signal] === current;

  const evaluate = (program: Program, event: TaggedEvent): boolean => {
    switch (program.kind) {
      case "any":
        return program.signals.some(isSeen);
      case "all":
        return program.signals.every(isSeen);
      case "test": {
        const { signals: needed, test, atom } = program;
        if (!needed.some(isSeen)) return false;
        if (testSeen[test] !== current) {
          testSeen[test] = current;
          testResult[test] = atomHolds(atom, event) ? 1 : 0;
        }
        return testResult[test] === 1;
      }
      case "and":
        return program.parts.every((part) => evaluate(part, event));
      case "or":
        return program.parts.some((part) => evaluate(part, event));
      case "not":
        return !evaluate(program.part, event);
    }
  };

  const match = (event: TaggedEvent): readonly string[] => {
    current++;
    candidates = always.slice();
    signals.scan(event, current, onSignal);
    if (candidates.length === 0) return NO_TAGS;
    evaluated += candidates.length;
    const matches = candidates.filter((rule) => {
      const program = compiled[rule]?.program;
      return program !== undefined && evaluate(program, event);
    });
    // Rules are in the order of their slugs.
    const slugs = matches.sort((one, other) => one - other).flatMap((rule) => compiled[rule]?.slug ?? []);
    return slugs.length < 2 ? slugs : [...new Set(slugs)];
  };

  return {
    evaluated: () => evaluated,
    explain: (observation) => explainRules(rules, toEvent(observation)),
    tagsFor: (observation) => match(toEvent(observation)),
  };
}

function testKey(atom: Atom): string {
  switch (atom.kind) {
    case "regex":
      return `regex/${atom.field}/${atom.form}/${atom.regex.source}`;
    case "wildcard":
      return `wildcard/${atom.field}/${atom.form}/${atom.source}`;
    default:
      return JSON.stringify(atom);
  }
}
