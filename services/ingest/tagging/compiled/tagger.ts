import { type Explanation, explainRules } from "../explain.ts";
import { type TaggedEvent, toEvent } from "../matching/event.ts";
import type { FieldName, Taggable } from "../matching/fields.ts";
import { atomHolds } from "../matching/holds.ts";
import type { Atom, TaggingRule } from "../rule.ts";
import { compileRule, type Program } from "./compile-rule.ts";
import { isAboutSource, signalBuilder } from "./signals.ts";
import { visitTest } from "./visits.ts";

export type CompiledTagger = {
  /**
   * The slugs of the rules that match, sorted.
   * @param content stands for all that was sent. Observations with the same one differ only in their time, their source
   * and their sensor, so that what rules find in it is remembered as long as the object lives.
   */
  tagsFor(observation: Taggable, content?: object): readonly string[];
  /**
   * The same for sources that no rule can tell apart: with the same content they get the same tags, where no rule asks
   * for the visit.
   */
  sourceKey(observation: Taggable): string;
  /** Whether a rule looks at the sensor of an observation or asks for its source port. */
  asksForVisit(sourcePort: number | undefined): boolean;
  explain(observation: Taggable): Explanation;
  /** How many rules were evaluated so far: those of which something necessary was found in an event. */
  evaluated(): number;
};

const NO_TAGS: readonly string[] = [];
const MAX_REMEMBERED = 256;

/**
 * Compiles rules so that the time for an event hardly depends on their number: all texts, numbers and networks that
 * they ask for are looked for in one pass, and a rule is evaluated only when something was found without which it cannot
 * match.
 */
export function createTagger(rules: readonly TaggingRule[]): CompiledTagger {
  const builder = signalBuilder();
  const tests = new Map<string, number>();
  const testNumber = (atom: Atom) => {
    const key = testKey(atom);
    const known = tests.get(key) ?? tests.size;
    tests.set(key, known);
    return known;
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
  const testedOfSource = new Set(
    compiled.flatMap(({ program }) => testedFields(program)).filter((field) => isAboutSource(field)),
  );
  const remembered = new WeakMap<object, Map<string, readonly string[]>>();
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
    const found = candidates.filter((rule) => {
      const program = compiled[rule]?.program;
      return program !== undefined && evaluate(program, event);
    });
    // Rules are in the order of their slugs.
    const slugs = found.sort((one, other) => one - other).flatMap((rule) => compiled[rule]?.slug ?? []);
    return slugs.length < 2 ? slugs : [...new Set(slugs)];
  };

  /** All that rules can find out about the source: the signals, and the values that they test otherwise. */
  const keyOfSource = (event: TaggedEvent): string => {
    let key = "";
    current++;
    signals.scanSource(event, current, (signal) => {
      key += `${signal},`;
    });
    for (const field of testedOfSource) key += `|${JSON.stringify(event.value(field))}`;
    return key;
  };

  return {
    evaluated: () => evaluated,
    sourceKey: (observation) => keyOfSource(toEvent(observation)),
    asksForVisit: visitTest(rules),
    explain: (observation) => explainRules(rules, toEvent(observation)),
    tagsFor(observation, content) {
      const event = toEvent(observation);
      if (content === undefined) return match(event);
      const bySource = remembered.get(content) ?? new Map<string, readonly string[]>();
      remembered.set(content, bySource);
      const key = keyOfSource(event);
      // Where rules compare names of sources, each has a key of its own.
      if (bySource.size >= MAX_REMEMBERED) bySource.clear();
      const known = bySource.get(key) ?? match(event);
      bySource.set(key, known);
      return known;
    },
  };
}

/** The fields whose values a rule compares, where signals alone do not decide. */
function testedFields(program: Program): FieldName[] {
  switch (program.kind) {
    case "any":
    case "all":
      return [];
    case "test":
      return [program.atom.kind === "network" ? "source_ip" : program.atom.field];
    case "and":
    case "or":
      return program.parts.flatMap(testedFields);
    case "not":
      return testedFields(program.part);
  }
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
