import { type FieldKind, findField, LISTED_FIELDS } from "../fields.ts";
import { type Field, quote } from "../query.ts";

/** What may be written at the cursor. */
export type Completion = {
  /** The part of the text that a suggestion replaces, in UTF-16 units from 0. */
  readonly from: number;
  readonly to: number;
  readonly suggestions: readonly Suggestion[];
};
export type Suggestion = {
  /** As it is written into the query. */
  readonly text: string;
  /** What it means; empty where the text says it all. */
  readonly meaning: string;
  /** How many addresses have the value. */
  readonly count?: number | undefined;
};

/** A value of a field, which is found by its text or name, with how many addresses have it. */
export type KnownValue = { readonly value: string; readonly name: string; readonly count?: number | undefined };
/** The values that the caller knows of a field, in the order of their suggestions; undefined for none. */
export type KnownValues = (field: Field) => readonly KnownValue[] | undefined;

const MAX_SUGGESTIONS = 10;

/** Where a value is being written, by which a caller knows which values to load. */
export type ValueAt = Pick<Completion, "from" | "to"> & { readonly field: Field };

export function valueAt(text: string, cursor: number): ValueAt | undefined {
  const context = contextAt(text, cursor);
  const found = context?.field === undefined ? undefined : findField(context.field);
  if (context === undefined || found === undefined || !("kind" in found && "field" in found)) return undefined;
  return { field: found.field, from: context.from, to: endOfValue(text, cursor, context) };
}

/** Suggests fields, or values of the field before the cursor; those that begin with what is written come first. */
export function complete(text: string, cursor: number, known: KnownValues): Completion {
  const context = contextAt(text, cursor);
  if (context === undefined) return { from: cursor, to: cursor, suggestions: [] };
  const { from, typed, field, isQuoted } = context;
  if (field === undefined) {
    const to = cursor + (/^[\w.]*:?/.exec(text.slice(cursor))?.[0].length ?? 0);
    return { from, to, suggestions: typed === "" || isQuoted ? [] : suggestFields(typed) };
  }
  const to = endOfValue(text, cursor, context);
  const found = findField(field);
  return { from, to, suggestions: "kind" in found ? suggestValues(found, typed, known) : [] };
}

const END_OF_VALUE = /^[^\s()]*/;
const END_OF_QUOTED = /^(?:[^"\\]|\\.)*"/s;

function endOfValue(text: string, cursor: number, { isQuoted }: CursorContext): number {
  const after = text.slice(cursor);
  const end = isQuoted && isClosedIn(after) ? END_OF_QUOTED : END_OF_VALUE;
  return cursor + (end.exec(after)?.[0].length ?? 0);
}

/** Whether the first quote closes the text before: quotes that open and close each other are an even number. */
const isClosedIn = (rest: string) => (rest.replace(/\\./gs, "").match(/"/g)?.length ?? 0) % 2 === 1;

type CursorContext = {
  readonly from: number;
  readonly typed: string;
  readonly field: string | undefined;
  /** Whether the cursor is within quotes. */
  readonly isQuoted: boolean;
};

/** What is written before the cursor: undefined within a range, where numbers and times stand. */
function contextAt(text: string, cursor: number): CursorContext | undefined {
  const groups: (string | undefined)[] = [];
  let [start, isQuoted, isRange] = [0, false, false];
  for (let index = 0; index < cursor; index++) {
    const character = text.charAt(index);
    if (character === "\\") index++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (isRange) isRange = !/[\]}]/.test(character);
    else if (/[[{]/.test(character) && text.charAt(index - 1) === ":") isRange = true;
    else if (character === "(") {
      groups.push(/^[-!]*([\w.]+):$/.exec(text.slice(start, index))?.[1] ?? groups.at(-1));
      start = index + 1;
    } else if (character === ")") {
      groups.pop();
      start = index + 1;
    } else if (/\s/.test(character)) start = index + 1;
  }
  if (isRange || start > cursor) return undefined;
  const signs = /^[-!]*/.exec(text.slice(start, cursor))?.[0].length ?? 0;
  const [whole = "", name] = /^([\w.]+):/.exec(text.slice(start + signs, cursor)) ?? [];
  const field = name ?? groups.at(-1);
  const from = start + signs + whole.length;
  return { from, typed: text.slice(from, cursor).replace(/^"/, "").toLowerCase(), field, isQuoted };
}

function suggestFields(typed: string): Suggestion[] {
  const called = LISTED_FIELDS.flatMap(({ names, kind }) => {
    const name = names.find((one) => one.startsWith(typed));
    return name === undefined ? [] : [{ text: `${name}:`, meaning: meaningOf(kind) }];
  });
  const others = LISTED_FIELDS.flatMap(({ name, names, kind }) =>
    names.some((one) => one.startsWith(typed)) || !name.includes(typed)
      ? []
      : [{ text: `${name}:`, meaning: meaningOf(kind) }],
  );
  return [...called, ...others].slice(0, MAX_SUGGESTIONS);
}

function meaningOf(kind: FieldKind): string {
  const values = "values" in kind && kind.values !== undefined ? kind.values.join(", ") : undefined;
  return values ?? MEANINGS[kind.kind];
}

const MEANINGS: Readonly<Record<FieldKind["kind"], string>> = {
  address: "an address or a network",
  number: "a number, >1000 or [1 TO 1023]",
  time: "a day, 7d for the last seven days, <7d for before",
  days: "on how many of the last days: 10/14",
  words: "words in it",
  value: "the whole value",
  boolean: "true or false",
  "without-values": "",
};

const TIMES = [
  ["1d", "in the last 24 hours"],
  ["7d", "in the last seven days"],
  ["30d", "in the last thirty days"],
  ["today", "since midnight UTC"],
  ["yesterday", "the whole UTC day before"],
] as const;

function valuesOf(kind: FieldKind, known: KnownValues): readonly KnownValue[] {
  const plain = (values: readonly (string | number)[], counted: readonly KnownValue[] = []) =>
    values.map((value) => counted.find((one) => one.value === String(value)) ?? { value: String(value), name: "" });
  switch (kind.kind) {
    case "boolean":
      return plain(["true", "false"]);
    case "time":
      return TIMES.map(([value, name]) => ({ value, name }));
    case "number":
      return kind.values === undefined ? (known(kind.field) ?? []) : plain(kind.values);
    case "value":
      return kind.values === undefined
        ? (known(kind.field) ?? plain(kind.usual ?? []))
        : plain(kind.values, known(kind.field));
    case "words":
      return known(kind.field) ?? [];
    default:
      return [];
  }
}

/** Nothing for a value that is written whole: there is nothing to add. */
function suggestValues(kind: FieldKind, typed: string, known: KnownValues): Suggestion[] {
  const values = valuesOf(kind, known);
  if (values.some(({ value }) => value.toLowerCase() === typed)) return [];
  const begins = ({ value, name }: KnownValue) =>
    value.toLowerCase().startsWith(typed) || name.toLowerCase().startsWith(typed);
  const contains = (one: KnownValue) =>
    !begins(one) && (one.value.toLowerCase().includes(typed) || one.name.toLowerCase().includes(typed));
  return [...values.filter(begins), ...values.filter(contains)]
    .slice(0, MAX_SUGGESTIONS)
    .map(({ value, name, count }) => ({ text: writeValue(value), meaning: name === value ? "" : name, count }));
}

/** A value as a query has it, in quotes where it would not stand for itself. */
export function writeValue(value: string): string {
  return /^[\p{L}\p{N}_.][\p{L}\p{N}_./:+-]*$/u.test(value) ? value : quote(value);
}
