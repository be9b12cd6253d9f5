import { ipv4ToNumber, isIpv4, lastAddress } from "../address/ipv4.ts";
import { isIpv6, mappedIpv4 } from "../address/ipv6.ts";
import { DAY_MS, MAX_DAYS } from "../time/window.ts";
import type { FieldKind } from "./fields.ts";
import type { Condition, Pattern, Query, RangeField } from "./query.ts";
import type { ComparisonTree, Place, RangeTree, ValueTree, WordTree } from "./syntax-tree.ts";
import { isLikelyMinutes, readTimeSpan } from "./times.ts";

/** Notes what is wrong with a part of the query. */
export type Note = (message: string, place: Place) => void;

/** What conditions are read with. */
export type Notes = {
  /** In milliseconds since 1970 UTC, for times like `7d`. */
  readonly now: number;
  readonly error: Note;
  /** Notes what is no error and can match nothing, or hardly what was meant. */
  readonly warn: (message: string) => void;
};

/** The same for every address; also what stands for a part that is wrong. */
export const constant = (value: boolean): Condition => ({ type: "constant", value });

type Span = { readonly first: number; readonly last: number };
type ReadBound = (text: string) => Span | undefined;

/** What a value of a field asks for. @param name the field's, as it is written in the query. */
export function toCondition(kind: FieldKind, name: string, value: ValueTree, notes: Notes): Query {
  if (value.type === "text" && value.isQuoted && value.text === "") return { type: "not", of: exists(kind) };
  if (kind.kind === "without-values") {
    notes.warn(`no address is found by ${name} here`);
    return constant(false);
  }
  if (isAnything(value)) return exists(kind);
  switch (kind.kind) {
    case "address":
      return addresses(value, notes);
    case "number":
      return toRange(kind.field, value, notes.error, (text) => readNumber(kind, text), numberHelp(kind));
    case "time":
      return times(kind.field, value, notes);
    case "days":
      return days(value, notes);
    case "boolean":
      return booleans(kind, name, value, notes);
    default:
      return texts(kind, value, notes);
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
  if (kind.kind === "address" || kind.kind === "boolean" || kind.kind === "days") return constant(true);
  return { type: "exists", field: kind.field };
}

export function textOf(word: WordTree): string {
  if (word.type === "text") return word.text;
  return word.parts.map((part) => (typeof part === "string" ? part : part.wildcard)).join("");
}

const NOT_RANGES = "takes one value, no range or comparison";
const ADDRESS_HELP = "takes an IPv4 address, a network like 198.51.100.0/24, or a range of addresses";

function addresses(value: ValueTree, notes: Notes): Condition {
  if (value.type === "text" && isOnlyIpv6(value.text)) return ipv6(notes);
  return toRange("ip", value, notes.error, readNetwork, ADDRESS_HELP);
}

/** An IPv6 address or network that is none of IPv4. */
export const isOnlyIpv6 = (text: string) => isIpv6(text.replace(/\/\d{1,3}$/, "")) && readNetwork(text) === undefined;

export function ipv6({ warn }: Pick<Notes, "warn">): Condition {
  warn("no IPv6 address is found: only IPv4 addresses are stored");
  return constant(false);
}

/** The addresses of a network, also in IPv6 spelling; host bits are ignored. */
export function readNetwork(text: string): Span | undefined {
  const [, written = "", bits] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const mapped = written.includes(":") ? mappedIpv4(written) : undefined;
  const address = mapped ?? written;
  const length = bits === undefined ? 32 : Number(bits) - (mapped === undefined ? 0 : 96);
  if (!isIpv4(address) || length > 32 || length < 0) return undefined;
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
  "takes a day like 2026-11-20, a time like 2026-11-20T14:00:00Z, today, yesterday, or how long ago: 30min, 12h, 7d, 2w, 3m, 1y";

function times(field: RangeField, value: ValueTree, { now, error }: Notes): Condition {
  const span = value.type === "text" ? readTimeSpan(value.text, now) : undefined;
  // Alone, a length of time is all that came since.
  if (span?.isAgo) return { type: "range", field, first: span.first, last: Number.POSITIVE_INFINITY };
  return toRange(field, value, error, (text) => readTimeSpan(text, now), TIME_HELP);
}

/** @returns on how many of the last UTC days, of which the current one is the last. */
function days(value: ValueTree, { now, error }: Notes): Condition {
  const [, text = "", of = ""] = (value.type === "text" && /^(\d{1,2})\/(\d{1,2})$/.exec(value.text)) || [];
  const [minDays, last] = [Number(text), Number(of)];
  if (minDays >= 1 && minDays <= last && last <= MAX_DAYS) {
    return { type: "seen-on", minDays, firstDay: (Math.floor(now / DAY_MS) - last + 1) * DAY_MS };
  }
  error(`the field takes on how many of the last days, such as 10/14, of at most ${MAX_DAYS}`, value);
  return constant(false);
}

/** A bound stands for its first unit where the range goes up from it, and for its last where the range ends with it. */
function toRange(field: RangeField, value: ValueTree, note: Note, read: ReadBound, help: string): Condition {
  const bound = (word: WordTree): Span | undefined => {
    if (isOpen(word)) return { first: Number.NEGATIVE_INFINITY, last: Number.POSITIVE_INFINITY };
    const span = word.type === "text" ? read(word.text) : undefined;
    if (span !== undefined) return span;
    const text = textOf(word);
    note(`${JSON.stringify(text.slice(0, 64))} does not fit: ${meantInstead(text, read) ?? `the field ${help}`}`, word);
    return undefined;
  };
  if (value.type === "range") return between(field, value, bound(value.from), bound(value.to), note);
  if (value.type === "comparison") return compared(field, value, bound(value.bound));
  const span = bound(value);
  return span === undefined ? constant(false) : { type: "range", field, first: span.first, last: span.last };
}

/** How other search languages, and earlier versions of this one, write a value of the field. */
function meantInstead(text: string, read: ReadBound): string | undefined {
  if (isLikelyMinutes(text)) return `m is a month of 30 days, at most 12; minutes are written 30min, hours 1h`;
  const [, from = "", sign, to = ""] = /^([^-,]{1,40})([-,])([^-,]{1,40})$/.exec(text) ?? [];
  if (read(from) === undefined || read(to) === undefined) return undefined;
  return sign === "-" ? `a range is written [${from} TO ${to}]` : `one of several is written (${from} OR ${to})`;
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

type BooleanKind = FieldKind & { readonly kind: "boolean" };

function booleans({ field, always = false }: BooleanKind, name: string, value: ValueTree, notes: Notes): Condition {
  const text = value.type === "text" ? value.text.toLowerCase() : undefined;
  if (text !== "true" && text !== "false") {
    notes.error("the field takes true or false", value);
    return constant(false);
  }
  if (field !== undefined) return { type: "equals", field, text };
  const isSame = (text === "true") === always;
  if (!isSame) notes.warn(`${name} is ${always} for every address here`);
  return constant(isSame);
}

type TextKind = FieldKind & { readonly kind: "words" | "value" };

/** Fields whose values may look like another language, or like a text that was encoded once more. */
const WITH_ANY_SIGNS: ReadonlySet<string> = new Set(["path", "user_agent", "host"]);

function texts(kind: TextKind, value: ValueTree, { error, warn }: Notes): Condition {
  const { field } = kind;
  if (value.type === "range" || value.type === "comparison") {
    error(`the field ${NOT_RANGES}`, value);
    return constant(false);
  }
  if (value.type === "pattern" || (value.parts !== undefined && kind.kind === "words")) {
    return { type: "matches", field, pattern: toPattern(value.parts ?? [], value, error) };
  }
  const text = value.text.toLowerCase();
  if (value.parts !== undefined) warn(starInQuotes(value.text));
  if (!value.isQuoted && !WITH_ANY_SIGNS.has(field)) {
    if (EXPRESSION.test(text)) error(NO_EXPRESSIONS, value);
    if (ENCODED.test(text)) warn(`${JSON.stringify(value.text.slice(0, 64))}: ${ENCODED_TWICE}`);
  }
  if (kind.kind === "words") {
    const words = toWords(text, value, error);
    // Where there are none, the whole value.
    return words.length === 0 ? { type: "equals", field, text } : { type: "words", field: kind.field, words };
  }
  if (kind.values?.includes(text) === false) {
    error(`${JSON.stringify(value.text.slice(0, 64))} does not fit: the field takes ${kind.values.join(", ")}`, value);
  }
  return { type: "equals", field, text };
}

export const starInQuotes = (text: string) =>
  `within quotes * is an ordinary character, as in ${JSON.stringify(text.slice(0, 64))}: without them it stands for any characters`;

/** What the grammar cannot tell from a text that is meant. */
const EXPRESSION = /^\/[\w -]+\/$/;
const NO_EXPRESSIONS = "regular expressions are not supported: write quotes around a text with slashes";
const ENCODED = /%(?:3a|2[0289])/i;
const ENCODED_TWICE = "the query was percent-encoded twice";

/** What other languages write where this one has a text without a field, as it stands in the query. */
const FOREIGN: readonly (readonly [sign: RegExp, message: string])[] = [
  [/^\+/, "a + is not needed: conditions beside each other must all hold"],
  [/^[\w.]*[*?][\w.*?]*:/, "no wildcard stands for the name of a field: * alone is any address"],
  [ENCODED, ENCODED_TWICE],
  [EXPRESSION, NO_EXPRESSIONS],
  [/(?<!\\)=|^[\w.]+[<>]/, "a colon stands between a field and its value, as in tags:mirai and port:>1023"],
];

/** Notes an error where a text without a field is no text of this language. */
export function refuseForeign(source: string, place: Place, error: Note): void {
  const found = FOREIGN.find(([sign]) => sign.test(source));
  if (found !== undefined) error(found[1], place);
}

/** Matches a word: letters, digits and combining marks. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** The words of a text in lower case. */
export const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(WORD) ?? [];

/** The store compares each text with all of them. */
const MAX_WORDS = 100;
const MAX_WILDCARDS = 100;

/** The words of a value in lower case. */
export function toWords(text: string, place: Place, error: Note): readonly string[] {
  const words = wordsOf(text);
  if (words.length > MAX_WORDS) error(`a value has at most ${MAX_WORDS} words, this one ${words.length}`, place);
  return words;
}

/** A pattern in lower case, in which no `*` stands beside another one. */
export function toPattern(parts: Pattern, place: Place, error: Note): Pattern {
  const pattern = parts
    .filter((part, index) => !(isStar(part) && isStar(parts[index - 1])))
    .map((part) => (typeof part === "string" ? part.toLowerCase() : part));
  const wildcards = pattern.filter((part) => typeof part !== "string").length;
  if (wildcards > MAX_WILDCARDS) error(`a value has at most ${MAX_WILDCARDS} wildcards, this one ${wildcards}`, place);
  return pattern;
}

const isStar = (part: Pattern[number] | undefined) => typeof part === "object" && part.wildcard === "*";
