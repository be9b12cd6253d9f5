import type { TaggedEvent } from "../matching/event.ts";
import type { FieldName, NumberFieldName, TextFieldName } from "../matching/fields.ts";
import type { TextForm } from "../matching/text-form.ts";
import type { TextOperator } from "../rule.ts";
import { type Automaton, buildAutomaton, type Pattern } from "./automaton.ts";

/**
 * Something that one look at an event finds out for all rules at once: that a field has a text, a number or any value
 * at all, or that the source is in a network. Signals are numbered from 0.
 */
export type Signals = {
  /** Calls back with each signal of an event, some of them more than once. @param number of the event, from 1 on. */
  scan(event: TaggedEvent, number: number, report: (signal: number) => void): void;
  /** Reports only what it finds in the fields of {@link isAboutSource}, in an order that is always the same. */
  scanSource(event: TaggedEvent, number: number, report: (signal: number) => void): void;
  readonly count: number;
};

const SOURCE_FIELDS: ReadonlySet<FieldName> = new Set([
  ...(["source_ip", "source_port", "asn", "organization", "country", "rdns", "validated_rdns", "sensor"] as const),
]);

/** Whether a field says who was seen and by whom, and nothing of what was sent. */
export const isAboutSource = (field: FieldName): boolean => SOURCE_FIELDS.has(field);

export type SignalBuilder = {
  text(field: TextFieldName, form: TextForm, operator: TextOperator, text: string): number;
  number(field: NumberFieldName, value: number): number;
  network(first: number, last: number): number;
  exists(field: FieldName): number;
  build(): Signals;
};

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
  /** By the size of the network, then by its first address. */
  const networks = new Map<number, Map<number, number>>();
  const existing: { field: FieldName; signal: number }[] = [];

  const signal = (question: string, add: (signal: number) => void): number => {
    const known = numbers.get(question);
    if (known !== undefined) return known;
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
    network: (first, last) =>
      signal(`network/${first}/${last}`, (id) => getOrAdd(networks, last - first + 1, () => new Map()).set(first, id)),
    exists: (field) => signal(`exists/${field}`, (id) => existing.push({ field, signal: id })),
    build: () => createSignals(numbers.size, [...textIndexes.values()], [...byNumber], [...networks], existing),
  };
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = create();
  map.set(key, value);
  return value;
}

function createSignals(
  count: number,
  textIndexes: readonly TextIndex[],
  byNumber: readonly (readonly [NumberFieldName, ReadonlyMap<number, number>])[],
  networks: readonly (readonly [number, ReadonlyMap<number, number>])[],
  existing: readonly { readonly field: FieldName; readonly signal: number }[],
): Signals {
  const texts = textIndexes.map(({ field, form, patterns, equal }) => ({
    field,
    form,
    equal: equal.size === 0 ? undefined : equal,
    automaton: patterns.length === 0 ? undefined : buildAutomaton(patterns),
  }));
  const scanIn =
    (isScanned: (field: FieldName) => boolean) =>
    (event: TaggedEvent, number: number, report: (signal: number) => void) => {
      for (const { field, form, equal, automaton } of texts) {
        if (!isScanned(field)) continue;
        for (const text of event.texts(field, form)) scanText(text, equal, automaton, number, report);
      }
      for (const [field, signals] of byNumber) {
        if (!isScanned(field)) continue;
        const value = event.number(field);
        const signal = value === undefined ? undefined : signals.get(value);
        if (signal !== undefined) report(signal);
      }
      if (networks.length > 0) {
        const address = event.address();
        for (const [size, signals] of address === undefined ? [] : networks) {
          const signal = signals.get((address ?? 0) - ((address ?? 0) % size));
          if (signal !== undefined) report(signal);
        }
      }
      for (const { field, signal } of existing) if (isScanned(field) && event.exists(field)) report(signal);
    };
  return { count, scan: scanIn(() => true), scanSource: scanIn(isAboutSource) };
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
