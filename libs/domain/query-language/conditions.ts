import { ipv4ToNumber, isIpv4, lastAddress } from "../address/ipv4.ts";
import type { FieldKind } from "./fields.ts";
import type { Condition, Pattern, Query, RangeField, WordsField } from "./query.ts";
import type { ComparisonTree, Place, RangeTree, ValueTree, WordTree } from "./syntax-tree.ts";
import { readTimeSpan } from "./times.ts";

/** Notes what is wrong with a part of the query. */
export type Note = (message: string, place: Place) => void;

/** The same for every address; also what stands for a part that is wrong. */
export const constant = (value: boolean): Condition => ({ type: "constant", value });

type Span = { readonly first: number; readonly last: number };
type ReadBound = (text: string) => Span | undefined;

/** What a value of a field asks for. */
export function toCondition(kind: FieldKind, value: ValueTree, now: number, note: Note): Query {
  if (isAnything(value)) return exists(kind);
  if (value.type === "text" && value.isQuoted && value.text === "") return { type: "not", of: exists(kind) };
  switch (kind.kind) {
    case "address":
      return addresses(value, note);
    case "number":
      return toRange(kind.field, value, note, (text) => readNumber(kind, text), numberHelp(kind));
    case "time":
      return times(kind.field, value, now, note);
    case "boolean":
      return booleans(kind, value, note);
    case "without-values":
      return constant(false);
    default:
      return texts(kind, value, note);
  }
}

/** `*`, and `[* TO *]`. */
function isAnything(value: ValueTree): boolean {
  return value.type === "range" ? isOpen(value.from) && isOpen(value.to) : isOpen(value);
}

const isOpen = (value: ValueTree) =>
  value.type === "pattern" && value.parts.every((part) => typeof part !== "string" && part.wildcard === "*");

function exists(kind: FieldKind): Condition {
  if (kind.kind === "without-values") return constant(false);
  if (kind.kind === "address" || kind.kind === "boolean") return constant(true);
  return { type: "exists", field: kind.field };
}

function textOf(word: WordTree): string {
  if (word.type === "text") return word.text;
  return word.parts.map((part) => (typeof part === "string" ? part : part.wildcard)).join("");
}

const NOT_RANGES = "takes one value, no range or comparison";
const ADDRESS_HELP = "takes an IPv4 address, a network like 198.51.100.0/24, or a range of addresses";

function addresses(value: ValueTree, note: Note): Condition {
  return toRange("ip", value, note, readNetwork, ADDRESS_HELP);
}

/** The addresses of a network; host bits are ignored. */
export function readNetwork(text: string): Span | undefined {
  const [, address = "", bits = "32"] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(text) ?? [];
  const length = Number(bits);
  if (!isIpv4(address) || length > 32) return undefined;
  const number = ipv4ToNumber(address);
  const first = number - (number % 2 ** (32 - length));
  return { first, last: lastAddress({ first, length }) };
}

type NumberKind = FieldKind & { readonly kind: "number" };

function readNumber({ prefix, values }: NumberKind, text: string): Span | undefined {
  const digits = prefix !== undefined && text.toUpperCase().startsWith(prefix) ? text.slice(prefix.length) : text;
  const number = /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
  if (number === undefined || values?.includes(number) === false) return undefined;
  return { first: number, last: number };
}

function numberHelp({ prefix, values }: NumberKind): string {
  if (values !== undefined) return `takes ${values.join(", ")}`;
  return prefix === undefined ? "takes a whole number or a range of them" : `takes a number, with or without ${prefix}`;
}

const TIME_HELP =
  "takes a day like 2026-11-20, a time like 2026-11-20T14:00:00Z, today, yesterday, or how long ago: 30m, 12h, 7d, 2w";

function times(field: RangeField, value: ValueTree, now: number, note: Note): Condition {
  const span = value.type === "text" ? readTimeSpan(value.text, now) : undefined;
  // Alone, a length of time is all that came since.
  if (span?.isAgo) return { type: "range", field, first: span.first, last: Number.POSITIVE_INFINITY };
  return toRange(field, value, note, (text) => readTimeSpan(text, now), TIME_HELP);
}

/** A bound stands for its first unit where the range goes up from it, and for its last where the range ends with it. */
function toRange(field: RangeField, value: ValueTree, note: Note, read: ReadBound, help: string): Condition {
  const bound = (word: WordTree): Span | undefined => {
    if (isOpen(word)) return { first: Number.NEGATIVE_INFINITY, last: Number.POSITIVE_INFINITY };
    const span = word.type === "text" ? read(word.text) : undefined;
    if (span === undefined) note(`${JSON.stringify(textOf(word).slice(0, 64))} does not fit: the field ${help}`, word);
    return span;
  };
  if (value.type === "range") return between(field, value, bound(value.from), bound(value.to), note);
  if (value.type === "comparison") return compared(field, value, bound(value.bound));
  const span = bound(value);
  return span === undefined ? constant(false) : { type: "range", field, first: span.first, last: span.last };
}

function between(
  field: RangeField,
  range: RangeTree,
  from: Span | undefined,
  to: Span | undefined,
  note: Note,
): Condition {
  if (from === undefined || to === undefined) return constant(false);
  const [first, last] = [range.isFromIn ? from.first : from.first + 1, range.isToIn ? to.last : to.last - 1];
  if (from.first > to.last) note("the range ends before it begins", range);
  return { type: "range", field, first, last };
}

function compared(field: RangeField, { sign }: ComparisonTree, bound: Span | undefined): Condition {
  if (bound === undefined) return constant(false);
  const [lowest, highest] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  switch (sign) {
    case ">":
      return { type: "range", field, first: bound.last + 1, last: highest };
    case ">=":
      return { type: "range", field, first: bound.first, last: highest };
    case "<":
      return { type: "range", field, first: lowest, last: bound.first - 1 };
    case "<=":
      return { type: "range", field, first: lowest, last: bound.last };
  }
}

function booleans(kind: FieldKind & { readonly kind: "boolean" }, value: ValueTree, note: Note): Condition {
  const text = value.type === "text" ? value.text.toLowerCase() : undefined;
  if (text !== "true" && text !== "false") {
    note("the field takes true or false", value);
    return constant(false);
  }
  if (kind.field === undefined) return constant(text === "false");
  return { type: "equals", field: kind.field, text };
}

type TextKind = FieldKind & { readonly kind: "words" | "value" };

function texts(kind: TextKind, value: ValueTree, note: Note): Condition {
  if (value.type === "range" || value.type === "comparison") {
    note(`the field ${NOT_RANGES}`, value);
    return constant(false);
  }
  if (value.type === "pattern") return { type: "matches", field: kind.field, pattern: toPattern(value.parts) };
  const text = value.text.toLowerCase();
  if (kind.kind === "words") return toWords(kind.field, text);
  if (kind.values?.includes(text) === false) {
    note(`${JSON.stringify(value.text.slice(0, 64))} does not fit: the field takes ${kind.values.join(", ")}`, value);
  }
  return { type: "equals", field: kind.field, text };
}

/** Matches a word: letters, digits and combining marks. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** The words of a text in lower case. */
export const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(WORD) ?? [];

/** Words where there are any, else the whole value. */
function toWords(field: WordsField, text: string): Condition {
  const words = wordsOf(text);
  return words.length === 0 ? { type: "equals", field, text } : { type: "words", field, words };
}

export const toPattern = (parts: Pattern): Pattern =>
  parts.map((part) => (typeof part === "string" ? part.toLowerCase() : part));
