import { isIpv4, isRoutableIpv4 } from "../address/ipv4.ts";
import { mappedIpv4 } from "../address/ipv6.ts";
import { toPlainText } from "./plain-text.ts";

/** Something in a text that is, or was meant to be, an address. */
export type Entry = {
  /** In plain spelling: for an address dotted decimal, for a network with its length. */
  readonly text: string;
  readonly kind: "address" | "network" | keyof typeof NOT_LOOKED_UP;
};

/** Why an entry cannot be looked up. */
export const NOT_LOOKED_UP = {
  "not-routable": "not reached over the Internet: private, reserved or for special use",
  ipv6: "only IPv4 addresses are known",
  malformed: "no IPv4 address: it has four numbers from 0 to 255, without leading zeros",
} as const;

/**
 * The distinct addresses, networks and failed attempts at them in any text, in its order: a list, a log, the header of
 * a mail, URLs, also where the dots are in brackets. In a list, everything else in it is a failed attempt, too; in
 * prose and logs other words are not.
 */
export function findAddresses(pasted: string): readonly Entry[] {
  const text = toPlainText(pasted);
  const found = findMatches(text);
  const words = wordsBetween(text, found);
  const entries = distinct(found);
  const others = distinct(words);
  // A line of a log is `src=1.2.3.4 action=drop`, or has more words than addresses.
  const isLog = found.some(({ start }) => text[start - 1] === "=") || others.length > entries.length;
  const isList = !isLog && (others.length * 2 <= entries.length || !WORDS_IN_A_ROW.test(text));
  return isList ? distinct([...found, ...words].sort((one, other) => one.start - other.start)) : entries;
}

/** The routable addresses in a part of a text, in its order and possibly repeated; networks are not among them. */
export function routableAddressesIn(part: string): string[] {
  return findMatches(toPlainText(part)).flatMap(({ kind, text }) => (kind === "address" ? [text] : []));
}

/** Two words with no more than blanks between them. */
const WORDS_IN_A_ROW = /[^\s,;|][ \t]+[^\s,;|]/;

type Match = Entry & { readonly start: number; readonly end: number };

const IPV6 = String.raw`(?<![\w:.])(?=[\da-f:]*::|(?:[\da-f]{1,4}:){7}[\da-f]{1,4}(?![\w:]))(?=:*[\da-f])[\da-f:]+(?:\.\d+){0,3}(?:%\w+)?(?:\/\d{1,3})?(?![\w:])`;
/** Not from the middle of a number: a long one would be read again from each of its digits. */
const NUMBERS = String.raw`(?<!\d)\d+(?:\.\d+){3,}`;
const CANDIDATE = new RegExp(`(?<ipv6>${IPV6})|${NUMBERS}`, "gi");
const LENGTH = /\/(\d{1,3})(?![\w/:-]|\.\w)/y;

function findMatches(text: string): Match[] {
  const matches: Match[] = [];
  for (const { 0: candidate, index: start, groups } of text.matchAll(CANDIDATE)) {
    const end = start + candidate.length;
    if (groups?.ipv6 !== undefined) {
      const mapped = mappedIpv4(candidate);
      matches.push({ ...(mapped === undefined ? { text: candidate, kind: "ipv6" } : toEntry(mapped)), start, end });
      continue;
    }
    const before = text.slice(Math.max(0, start - 2), start);
    const continuesMatch = before.endsWith("/") && matches.at(-1)?.end === start - 1;
    if (!continuesMatch && isPartOfName(before, text.slice(end, end + 2))) continue;
    LENGTH.lastIndex = end;
    const length = before === "//" ? undefined : LENGTH.exec(text)?.[1];
    if (length === undefined) matches.push({ ...toEntry(candidate), start, end });
    else matches.push({ ...toNetwork(candidate, Number(length)), start, end: end + length.length + 1 });
  }
  return matches;
}

/**
 * Numbers that are a version or a host's name: `Chrome/120.0.0.0`, `openssl-1.1.1.1`, `v1.2.3.4`,
 * `4.3.2.1.in-addr.arpa`. After a slash an address has a port, as Java writes it: `host/1.2.3.4:80`.
 */
function isPartOfName(before: string, after: string): boolean {
  if (/\w$|\w\.$|[A-Za-z_]-$/.test(before)) return true;
  if (/^(?:[A-Za-z_]|\.\w|-[A-Za-z])/.test(after)) return true;
  return /\w\/$/.test(before) && !/^:\d/.test(after);
}

function toEntry(text: string): Entry {
  if (!isIpv4(text)) return { text, kind: "malformed" };
  return { text, kind: isRoutableIpv4(text) ? "address" : "not-routable" };
}

function toNetwork(address: string, length: number): Entry {
  if (length === 32) return toEntry(address);
  const isNetwork = isIpv4(address) && length < 32;
  return { text: `${address}/${length}`, kind: isNetwork ? "network" : "malformed" };
}

const MAX_WORD_CHARACTERS = 100;

/** The words of a text that have no match in them, without the punctuation around them. */
function wordsBetween(text: string, matches: readonly Match[]): Match[] {
  const words: Match[] = [];
  let next = 0;
  for (const { 0: word, index: start } of text.matchAll(/[^\s,;|]+/g)) {
    const end = start + word.length;
    while ((matches[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next++;
    const hasMatch = (matches[next]?.start ?? Number.POSITIVE_INFINITY) < end;
    const bare = word.replace(/^[^\p{L}\p{N}_:]+|[^\p{L}\p{N}_]+$/gu, "");
    if (!hasMatch && bare !== "")
      words.push({ text: bare.slice(0, MAX_WORD_CHARACTERS), kind: "malformed", start, end });
  }
  return words;
}

function distinct(matches: readonly Match[]): Entry[] {
  const byText = new Map(matches.map(({ text, kind }) => [text, { text, kind }]));
  return [...byText.values()];
}
