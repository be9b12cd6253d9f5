import type { TaggedEvent } from "../matching/event.ts";
import {
  type FieldName,
  fieldOf,
  type MemberName,
  type NumberFieldName,
  type TextFieldName,
} from "../matching/fields.ts";
import type { TextForm } from "../matching/text-form.ts";
import type { TextOperator } from "../rule.ts";
import { type Automaton, buildAutomaton, type Pattern } from "./automaton.ts";

/**
 * A fact about an event that is looked up once for all rules: that a field has a text, a number or any value
 * at all, or that the source is in a network. Signals are numbered from 0.
 */
export type Signals = {
  /** Calls back with each signal of an event, some of them more than once. @param number of the event, from 1 on. */
  scan(event: TaggedEvent, number: number, report: (signal: number) => void): void;
  readonly count: number;
};

export type SignalBuilder = {
  text(field: TextFieldName, form: TextForm, operator: TextOperator, text: string): number;
  number(field: NumberFieldName, value: number): number;
  network(first: number, last: number): number;
  exists(field: FieldName): number;
  build(): Signals;
};

/** Addresses of a network, both ends inclusive, and the signal that it has. */
type SignalledRange = { readonly first: number; readonly last: number; readonly signal: number };

const NO_SCANS: readonly Signals["scan"][] = [];

type TextIndex = {
  readonly field: TextFieldName;
  readonly form: TextForm;
  readonly patterns: Pattern[];
  readonly equal: Map<string, number>;
};

const PLACES = { contains: "anywhere", startswith: "start", endswith: "end" } as const;

/** Gives each question that rules ask a number; the same question asked again has the same one. */
export function signalBuilder(): SignalBuilder {
  const numbers = new Map<string, number>();
  const textIndexes = new Map<string, TextIndex>();
  const byNumber = new Map<NumberFieldName, Map<number, number>>();
  const networks: SignalledRange[] = [];
  const existing: { field: FieldName; signal: number }[] = [];

  const signal = (question: string, add: (signal: number) => void): number => {
    const present = numbers.get(question);
    if (present !== undefined) return present;
    const next = numbers.size;
    numbers.set(question, next);
    add(next);
    return next;
  };
  return {
    text: (field, form, operator, text) =>
      signal(`${operator}/${field}/${form}/${text}`, (id) => {
        const index = getOrAdd(textIndexes, `${field}/${form}`, () => ({
          field,
          form,
          patterns: [],
          equal: new Map(),
        }));
        if (operator === "equals") index.equal.set(text, id);
        else index.patterns.push({ text, place: PLACES[operator], id });
      }),
    number: (field, value) =>
      signal(`number/${field}/${value}`, (id) => getOrAdd(byNumber, field, () => new Map()).set(value, id)),
    network: (first, last) => signal(`network/${first}/${last}`, (id) => networks.push({ first, last, signal: id })),
    exists: (field) => signal(`exists/${field}`, (id) => existing.push({ field, signal: id })),
    build: () => createSignals(numbers.size, [...textIndexes.values()], [...byNumber], networks, existing),
  };
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const present = map.get(key);
  if (present !== undefined) return present;
  const value = create();
  map.set(key, value);
  return value;
}

function createSignals(
  count: number,
  textIndexes: readonly TextIndex[],
  byNumber: readonly (readonly [NumberFieldName, ReadonlyMap<number, number>])[],
  networks: readonly SignalledRange[],
  existing: readonly { readonly field: FieldName; readonly signal: number }[],
): Signals {
  const texts = textIndexes.map(({ field, form, patterns, equal }) => {
    const equalTexts = equal.size === 0 ? undefined : equal;
    const automaton = patterns.length === 0 ? undefined : buildAutomaton(patterns);
    return look(field, (event, number, report) => {
      for (const text of event.texts(field, form)) scanText(text, equalTexts, automaton, number, report);
    });
  });
  const numbers = byNumber.map(([field, signals]) =>
    look(field, (event, _number, report) => {
      const value = event.number(field);
      const signal = value === undefined ? undefined : signals.get(value);
      if (signal !== undefined) report(signal);
    }),
  );
  const ofSource = look("source_ip", (event, _number, report) => {
    const address = event.address();
    if (address === undefined) return;
    // Rules name few networks.
    for (const { first, last, signal } of networks) if (first <= address && address <= last) report(signal);
  });
  const values = existing.map(({ field, signal }) =>
    look(field, (event, _number, report) => {
      if (event.exists(field)) report(signal);
    }),
  );
  const all = [...texts, ...numbers, ...(networks.length > 0 ? [ofSource] : []), ...values];
  return { count, scan: scanWith(all) };
}

type Scan = Signals["scan"];
/** One look at a field of an event. */
type Look = { readonly member: MemberName; readonly scan: Scan };

const look = (field: FieldName, scan: Scan): Look => ({ member: fieldOf(field).member, scan });

/** Looks only at the fields of members that an observation has. */
function scanWith(looks: readonly Look[]): Scan {
  const byMember = new Map<string, Scan[]>();
  for (const { member, scan } of looks) getOrAdd(byMember, member, () => []).push(scan);
  return (event, number, report) => {
    for (const member of event.members()) {
      for (const scan of byMember.get(member) ?? NO_SCANS) scan(event, number, report);
    }
  };
}

function scanText(
  text: string,
  equal: ReadonlyMap<string, number> | undefined,
  automaton: Automaton | undefined,
  event: number,
  report: (signal: number) => void,
): void {
  const signal = equal?.get(text);
  if (signal !== undefined) report(signal);
  automaton?.scan(text, event, report);
}
