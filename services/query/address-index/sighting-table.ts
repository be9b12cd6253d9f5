import { ATTACK, ATTACKED } from "@noisefloor/domain/tags/attack.ts";
import { CONTACT } from "@noisefloor/domain/tags/contact.ts";
import { scramble, unscramble } from "./scramble.ts";

/** When an address was last seen, its worst severity, which is 0 without tags, and whether it attacked. */
export type Sighting = {
  readonly lastSeen: number;
  readonly severity: number;
  /** Whether an observation proves contact, as each attack does. */
  readonly isInContact: boolean;
  readonly hasAttacked: boolean;
};

/**
 * A hash table of the addresses whose hashes, their scrambled forms, have the same upper 8 bits. Six more bits divide
 * it into pages of equally many slots: an entry never leaves its page, and so need not hold these bits.
 */
export type SightingTable = {
  /** The slots of the pages, one page after the other. */
  readonly words: Uint32Array;
  readonly slotsPerPage: number;
  /** How many slots of each page are in use. */
  readonly lengths: Uint32Array;
};

const TABLE_SHIFT = 24;
export const TABLES = 2 ** (32 - TABLE_SHIFT);
const PAGE_SHIFT = 18;
const PAGES = 2 ** (TABLE_SHIFT - PAGE_SHIFT);
const KEYS = 2 ** PAGE_SHIFT;

/**
 * An entry says when an address was last seen with a severity. It stands in the slot that its key points to or, where
 * that was in use, in the next free one; the first slot of a page follows the last. Its first word has the key, which
 * is the lower 18 bits of the hash, 3 bits of severity, a bit that says whether another entry of the address follows,
 * and 10 bits of milliseconds, counted from 1 so that only a free slot has the word 0. The second has the seconds.
 */
const WORDS = 2;
const KEY_SHIFT = 14;
const SEVERITY_SHIFT = 11;
const SEVERITIES = 7;
const MORE = 2 ** 10;
const MILLISECONDS = 2 ** 10 - 1;

/** With more slots in use, the next free one would be far. */
const MAX_LOAD = 0.85;
const FIRST_SLOTS = 4;
const GROWTH = 1.2;

function createTable(slotsPerPage: number): SightingTable {
  const words = new Uint32Array(PAGES * slotsPerPage * WORDS);
  return { words, slotsPerPage, lengths: new Uint32Array(PAGES) };
}

/** A table without entries, and without room for any. */
export const NO_TABLE = createTable(1);

export function bytesOf(table: SightingTable): number {
  return table === NO_TABLE ? 0 : table.words.byteLength + table.lengths.byteLength;
}

export function lengthOf({ lengths }: SightingTable): number {
  return lengths.reduce((sum, length) => sum + length, 0);
}

export function tableNumber(hash: number): number {
  return hash >>> TABLE_SHIFT;
}

function pageOf(hash: number): number {
  return (hash >>> PAGE_SHIFT) & (PAGES - 1);
}

function keyOf(hash: number): number {
  return hash & (KEYS - 1);
}

/** A larger table with the same entries. */
export function grown(table: SightingTable): SightingTable {
  const larger = createTable(Math.max(FIRST_SLOTS, Math.ceil(table.slotsPerPage * GROWTH)));
  copyEntries(table, larger, 0);
  return larger;
}

/** A table with the entries that were last seen at a time or later. */
export function entriesSince(table: SightingTable, time: number): SightingTable {
  const kept = new Uint32Array(PAGES);
  for (let at = 0; at < table.words.length; at += WORDS) {
    if (table.words[at] === 0 || timeAt(table, at) < time) continue;
    const page = Math.floor(at / WORDS / table.slotsPerPage);
    kept[page] = (kept[page] ?? 0) + 1;
  }
  const longest = Math.max(...kept);
  if (longest === 0) return NO_TABLE;
  if (kept.every((length, page) => length === table.lengths[page])) return table;
  const needed = Math.max(FIRST_SLOTS, Math.ceil(longest / MAX_LOAD));
  // A table that is not half empty will need its slots again.
  const remaining = createTable(needed * 2 > table.slotsPerPage ? table.slotsPerPage : needed);
  copyEntries(table, remaining, time);
  return remaining;
}

function copyEntries(from: SightingTable, to: SightingTable, time: number): void {
  for (let at = 0; at < from.words.length; at += WORDS) {
    const first = from.words[at] ?? 0;
    if (first === 0 || timeAt(from, at) < time) continue;
    append(to, Math.floor(at / WORDS / from.slotsPerPage), first & ~MORE, from.words[at + 1] ?? 0);
  }
}

/** Adds an entry to a page that has room. */
function append({ words, slotsPerPage, lengths }: SightingTable, page: number, first: number, seconds: number): void {
  const key = first >>> KEY_SHIFT;
  let slot = homeOf(key, slotsPerPage);
  for (;;) {
    const at = (page * slotsPerPage + slot) * WORDS;
    const word = words[at] ?? 0;
    if (word === 0) {
      words[at] = first;
      words[at + 1] = seconds;
      break;
    }
    if (word >>> KEY_SHIFT === key) words[at] = word | MORE;
    slot = slot + 1 === slotsPerPage ? 0 : slot + 1;
  }
  lengths[page] = (lengths[page] ?? 0) + 1;
}

/** The number of upper bits of a key that choose its slot: times the slots of any page they still fit 32 bits. */
const HOME_BITS = 14;
const HOME_SHIFT = PAGE_SHIFT - HOME_BITS;

/** The slot that a key points to, in integers, as every search computes it. */
function homeOf(key: number, slotsPerPage: number): number {
  return Math.imul(key >>> HOME_SHIFT, slotsPerPage) >>> HOME_BITS;
}

/**
 * Records when an address was seen with a severity.
 * @returns whether that made an entry more, or changed no number of them, or there is no room for one more.
 */
export function put(table: SightingTable, hash: number, severity: number, time: number): "added" | "had" | "full" {
  const { words, slotsPerPage, lengths } = table;
  const seconds = Math.floor(time / 1_000);
  const first = (hash << KEY_SHIFT) | (severity << SEVERITY_SHIFT) | (time - seconds * 1_000 + 1);
  for (let at = entryOf(table, hash); at !== undefined; at = entryAfter(table, hash, at)) {
    const recorded = severityAt(table, at);
    if (includes(recorded, severity) && timeAt(table, at) >= time) return "had";
    if (recorded !== severity) continue;
    words[at] = first | ((words[at] ?? 0) & MORE);
    words[at + 1] = seconds;
    return "had";
  }
  const page = pageOf(hash);
  if ((lengths[page] ?? 0) + 1 > slotsPerPage * MAX_LOAD) return "full";
  append(table, page, first, seconds);
  return "added";
}

/** Whether an entry makes another one redundant that is no later: contact and attacks say nothing of tags. */
function includes(severity: number, other: number): boolean {
  return severity === other || (severity > other && (severity < CONTACT || other === 0 || other === CONTACT));
}

/** The severity that the tags of an entry's observations have. */
const ofTags = (severity: number) => (severity < CONTACT ? severity : 0);

/** Where the first entry of an address is; undefined when it has none. */
export function entryOf(table: SightingTable, hash: number): number | undefined {
  const key = keyOf(hash);
  return seek(table, pageOf(hash), key, homeOf(key, table.slotsPerPage));
}

/** Where its next entry is. */
function entryAfter(table: SightingTable, hash: number, at: number): number | undefined {
  if (((table.words[at] ?? 0) & MORE) === 0) return undefined;
  const { slotsPerPage } = table;
  const page = pageOf(hash);
  const next = at / WORDS - page * slotsPerPage + 1;
  return seek(table, page, keyOf(hash), next === slotsPerPage ? 0 : next);
}

function seek({ words, slotsPerPage }: SightingTable, page: number, key: number, from: number): number | undefined {
  for (let slot = from; ; slot = slot + 1 === slotsPerPage ? 0 : slot + 1) {
    const at = (page * slotsPerPage + slot) * WORDS;
    const word = words[at] ?? 0;
    if (word === 0) return undefined;
    if (word >>> KEY_SHIFT === key) return at;
  }
}

function severityAt({ words }: SightingTable, at: number): number {
  return ((words[at] ?? 0) >>> SEVERITY_SHIFT) & SEVERITIES;
}

function timeAt({ words }: SightingTable, at: number): number {
  return (words[at + 1] ?? 0) * 1_000 + ((words[at] ?? 0) & MILLISECONDS) - 1;
}

/** When an address was last seen since a time, and its worst severity since then, by its entries from one on. */
export function sightingFrom(
  table: SightingTable,
  hash: number,
  first: number | undefined,
  since: number,
): Sighting | undefined {
  let lastSeen = Number.NEGATIVE_INFINITY;
  let severity = 0;
  let isInContact = false;
  let hasAttacked = false;
  for (let at = first; at !== undefined; at = entryAfter(table, hash, at)) {
    const time = timeAt(table, at);
    if (time < since) continue;
    lastSeen = Math.max(lastSeen, time);
    const recorded = severityAt(table, at);
    severity = Math.max(severity, ofTags(recorded));
    if (recorded >= CONTACT) isInContact = true;
    if (recorded === ATTACK) hasAttacked = true;
  }
  return lastSeen < since ? undefined : { lastSeen, severity, isInContact, hasAttacked };
}

/**
 * Calls back with each address that was seen since `from`, and with its worst severity and {@link ATTACKED} since
 * `since`, which is not later.
 * @param number the upper bits of the hashes.
 */
export function visitAddresses(
  table: SightingTable,
  number: number,
  { from, since }: { readonly from: number; readonly since: number },
  visitor: (address: number, severity: number) => void,
): void {
  const { words, slotsPerPage } = table;
  for (let page = 0; page < PAGES; page++) {
    for (let at = page * slotsPerPage * WORDS; at < (page + 1) * slotsPerPage * WORDS; at += WORDS) {
      const word = words[at] ?? 0;
      const isLast = (word & MORE) === 0;
      // Nearly every address has one entry.
      if (word === 0 || (isLast && timeAt(table, at) < from)) continue;
      const key = word >>> KEY_SHIFT;
      const hash = (number << TABLE_SHIFT) | (page << PAGE_SHIFT) | key;
      const isAtHome = (page * slotsPerPage + homeOf(key, slotsPerPage)) * WORDS === at;
      if (!isAtHome && entryOf(table, hash) !== at) continue;
      const severity = severityAt(table, at);
      if (isLast) visitor(unscramble(hash), severity === ATTACK ? ATTACKED : ofTags(severity));
      else {
        const seen = sightingFrom(table, hash, at, since);
        if (seen === undefined || seen.lastSeen < from) continue;
        visitor(unscramble(hash), seen.severity | (seen.hasAttacked ? ATTACKED : 0));
      }
    }
  }
}

/** The worst severities of very many addresses since a time, 0 without one, with {@link ATTACKED}. */
export function worstSeverities(tables: readonly SightingTable[], addresses: Uint32Array, time: number): Uint8Array {
  const severities = new Uint8Array(addresses.length);
  const sinceSeconds = Math.floor(time / 1_000);
  const sinceMillisecond = time - sinceSeconds * 1_000 + 1;
  // `entryOf` and `entryAfter` written out: this loop runs for millions of addresses.
  for (let index = 0; index < addresses.length; index++) {
    const hash = scramble(addresses[index] ?? 0);
    const { words, slotsPerPage } = tables[tableNumber(hash)] ?? NO_TABLE;
    const key = keyOf(hash);
    const start = pageOf(hash) * slotsPerPage;
    let slot = homeOf(key, slotsPerPage);
    let worst = 0;
    let attacked = 0;
    for (;;) {
      const at = (start + slot) * WORDS;
      const word = words[at] ?? 0;
      if (word === 0) break;
      if (word >>> KEY_SHIFT === key) {
        const seconds = words[at + 1] ?? 0;
        const isSince =
          seconds > sinceSeconds || (seconds === sinceSeconds && (word & MILLISECONDS) >= sinceMillisecond);
        const severity = (word >>> SEVERITY_SHIFT) & SEVERITIES;
        if (isSince && severity === ATTACK) attacked = ATTACKED;
        else if (isSince && severity > worst && severity < CONTACT) worst = severity;
        if ((word & MORE) === 0) break;
      }
      slot = slot + 1 === slotsPerPage ? 0 : slot + 1;
    }
    severities[index] = worst | attacked;
  }
  return severities;
}
