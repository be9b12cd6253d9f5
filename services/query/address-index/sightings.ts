/** When an address was last seen, and its worst severity; 0 without tags. */
export type Sighting = { readonly lastSeen: number; readonly severity: number };

/**
 * When each address was last seen with each severity, in memory. Addresses are unsigned 32-bit integers, severities are
 * 0 to 7, times are milliseconds since 1970 UTC.
 */
export type Sightings = {
  /** Ignores times that are not later than the recorded one. Recording higher severities first takes less memory. */
  record(address: number, severity: number, lastSeen: number): void;
  /** The sighting of an address since a time; undefined when it was not seen since then. */
  find(address: number, since: number): Sighting | undefined;
  /**
   * The severities of very many addresses: 0 also for one that was not seen since then. Takes the least time when they
   * ascend.
   */
  severitiesOf(addresses: Uint32Array, since: number): Uint8Array;
  /**
   * Calls back with each address that was seen since `from`, and with its worst severity since `since`, which is not
   * later. A generator, as `evict` is.
   */
  visit(
    times: { readonly from: number; readonly since: number },
    visitor: (address: number, severity: number) => void,
  ): Generator<void, void, void>;
  /**
   * Removes entries last seen before a time. A generator, so that the caller can yield to the event loop between steps.
   */
  evict(before: number): Generator<void, void, void>;
  clear(): void;
  /** The number of pairs of address and severity. */
  size(): number;
  /** The memory that they occupy. */
  bytes(): number;
};

/**
 * A page has the addresses with the same upper 13 bits: with more and smaller pages each search would wait for memory,
 * with fewer and larger ones an insert would move too much. Within a page, addresses with the same upper 16 bits are a
 * block, and a search looks through its block alone.
 */
const PAGE_BITS = 19;
const BLOCK_BITS = 16;
const PAGES = 2 ** (32 - PAGE_BITS);
const BLOCKS = 2 ** (32 - BLOCK_BITS);
const BLOCKS_PER_PAGE = BLOCKS / PAGES;
const IN_PAGE = 2 ** PAGE_BITS - 1;
const PAGES_PER_STEP = 128;
const FIRST_CAPACITY = 4;
const GROWTH = 1.5;

/**
 * An entry is two words: first the lower 19 bits of the address, 3 bits of severity and 10 bits of milliseconds, then
 * the seconds. A page is sorted by the first word, so a binary search finds an address, and an insert moves only its
 * page.
 */
const WORDS = 2;
const MILLISECOND_BITS = 10;
const SEVERITY_BITS = 3;
/** Remainders by bits: `%` of words beyond 31 bits takes several times as long. */
const MILLISECONDS = 2 ** MILLISECOND_BITS - 1;
const SEVERITIES = 2 ** SEVERITY_BITS - 1;

type Page = { words: Uint32Array; length: number };

export function createSightings(): Sightings {
  let pages: (Page | undefined)[] = Array.from({ length: PAGES });
  /** The index of each block's first entry in its page. */
  const starts = new Uint32Array(BLOCKS);
  let size = 0;
  let bytes = 0;

  const resize = (page: Page, capacity: number) => {
    const words = new Uint32Array(capacity * WORDS);
    words.set(page.words.subarray(0, page.length * WORDS));
    bytes += words.byteLength - page.words.byteLength;
    page.words = words;
  };
  const pageOf = (address: number): Page => {
    const existing = pages[address >>> PAGE_BITS];
    if (existing !== undefined) return existing;
    const page = { words: new Uint32Array(FIRST_CAPACITY * WORDS), length: 0 };
    bytes += page.words.byteLength;
    pages[address >>> PAGE_BITS] = page;
    return page;
  };
  /** The index of the first entry of an address with this severity or a higher one, or where it would stand. */
  const firstOf = (page: Page, address: number, severity = 0) => {
    const block = address >>> BLOCK_BITS;
    const next = block + 1;
    const end = next % BLOCKS_PER_PAGE === 0 ? page.length : (starts[next] ?? 0);
    return firstFrom(page, keyOf(address, severity), starts[block] ?? 0, end);
  };
  const insert = (page: Page, index: number, address: number, first: number, seconds: number) => {
    if (page.length * WORDS === page.words.length) resize(page, Math.ceil(page.length * GROWTH));
    const { words } = page;
    words.copyWithin((index + 1) * WORDS, index * WORDS, page.length * WORDS);
    words[index * WORDS] = first;
    words[index * WORDS + 1] = seconds;
    page.length++;
    size++;
    for (let next = (address >>> BLOCK_BITS) + 1; next % BLOCKS_PER_PAGE !== 0; next++)
      starts[next] = (starts[next] ?? 0) + 1;
  };

  return {
    record(address, severity, lastSeen) {
      const page = pageOf(address);
      const key = keyOf(address, severity);
      const index = firstOf(page, address, severity);
      if (isRedundant(page, index, key, lastSeen)) return;
      const seconds = Math.floor(lastSeen / 1_000);
      const first = key * 2 ** MILLISECOND_BITS + (lastSeen - seconds * 1_000);
      if (index === page.length || keyAt(page, index) !== key) insert(page, index, address, first, seconds);
      else if (timeAt(page, index) < lastSeen) {
        page.words[index * WORDS] = first;
        page.words[index * WORDS + 1] = seconds;
      }
    },
    find(address, since) {
      const page = pages[address >>> PAGE_BITS];
      if (page === undefined) return undefined;
      const end = keyOf(address, 0) + 2 ** SEVERITY_BITS;
      let lastSeen = Number.NEGATIVE_INFINITY;
      let severity = 0;
      for (let index = firstOf(page, address); index < page.length && keyAt(page, index) < end; index++) {
        const time = timeAt(page, index);
        if (time < since) continue;
        lastSeen = Math.max(lastSeen, time);
        severity = keyAt(page, index) & SEVERITIES;
      }
      return lastSeen < since ? undefined : { lastSeen, severity };
    },
    severitiesOf(addresses, since) {
      const severities = new Uint8Array(addresses.length);
      let before = 0;
      let low = 0;
      // One loop that calls nothing: V8 may make an object of an address of 2^31 or more that is passed to a function.
      for (let place = 0; place < addresses.length; place++) {
        const address = addresses[place] ?? 0;
        const page = pages[address >>> PAGE_BITS];
        if (page === undefined) continue;
        const { words, length } = page;
        const key = (address & IN_PAGE) << SEVERITY_BITS;
        const block = address >>> BLOCK_BITS;
        // Where the one before was found, or at the start of the block, begin steps that double until one goes too far.
        if (place === 0 || address < before || block !== before >>> BLOCK_BITS) low = starts[block] ?? 0;
        before = address;
        const end = (block + 1) % BLOCKS_PER_PAGE === 0 ? length : (starts[block + 1] ?? 0);
        let high = low;
        for (let step = 1; high < end && (words[high * WORDS] ?? 0) >>> MILLISECOND_BITS < key; step *= 2) {
          low = high + 1;
          high += step;
        }
        if (high > end) high = end;
        while (low < high) {
          const middle = (low + high) >>> 1;
          if ((words[middle * WORDS] ?? 0) >>> MILLISECOND_BITS < key) low = middle + 1;
          else high = middle;
        }
        for (let index = low; index < length; index++) {
          const word = words[index * WORDS] ?? 0;
          const severity = (word >>> MILLISECOND_BITS) - key;
          if (severity > SEVERITIES) break;
          const time = (words[index * WORDS + 1] ?? 0) * 1_000 + (word & MILLISECONDS);
          if (time >= since) severities[place] = severity;
        }
      }
      return severities;
    },
    *visit(times, visitor) {
      for (let start = 0; start < PAGES; start += PAGES_PER_STEP) {
        for (let number = start; number < start + PAGES_PER_STEP; number++) {
          const page = pages[number];
          if (page !== undefined) visitPage(page, number, times, visitor);
        }
        yield;
      }
    },
    *evict(before) {
      for (let start = 0; start < PAGES; start += PAGES_PER_STEP) {
        for (let number = start; number < start + PAGES_PER_STEP; number++) {
          const page = pages[number];
          if (page === undefined) continue;
          const kept = compact(page, before);
          size -= page.length - kept;
          page.length = kept;
          for (let block = 0; block < BLOCKS_PER_PAGE; block++) {
            const key = keyOf(block << BLOCK_BITS, 0);
            starts[number * BLOCKS_PER_PAGE + block] = firstFrom(page, key, 0, kept);
          }
          if (kept === 0) {
            bytes -= page.words.byteLength;
            pages[number] = undefined;
          } else if (kept * WORDS * 2 < page.words.length) resize(page, kept);
        }
        yield;
      }
    },
    clear() {
      pages = Array.from({ length: PAGES });
      starts.fill(0);
      size = 0;
      bytes = 0;
    },
    size: () => size,
    bytes: () => bytes,
  };
}

function keyOf(address: number, severity: number): number {
  return (address & IN_PAGE) * 2 ** SEVERITY_BITS + severity;
}

function keyAt({ words }: Page, index: number): number {
  return (words[index * WORDS] ?? 0) >>> MILLISECOND_BITS;
}

function timeAt({ words }: Page, index: number): number {
  const milliseconds = (words[index * WORDS] ?? 0) & MILLISECONDS;
  return (words[index * WORDS + 1] ?? 0) * 1_000 + milliseconds;
}

/** The index of the first entry with this key or a higher one, from `from` on; `end` when there is none before it. */
function firstFrom(page: Page, key: number, from: number, end: number): number {
  let low = from;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyAt(page, middle) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A higher severity with a time as late makes this entry redundant. */
function isRedundant(page: Page, from: number, key: number, lastSeen: number): boolean {
  for (
    let index = from;
    index < page.length && keyAt(page, index) >>> SEVERITY_BITS === key >>> SEVERITY_BITS;
    index++
  ) {
    if (keyAt(page, index) > key && timeAt(page, index) >= lastSeen) return true;
  }
  return false;
}

/** The entries of an address stand together, the highest severity last. */
function visitPage(
  page: Page,
  number: number,
  { from, since }: { readonly from: number; readonly since: number },
  visitor: (address: number, severity: number) => void,
): void {
  for (let index = 0; index < page.length; ) {
    const lower = keyAt(page, index) >>> SEVERITY_BITS;
    let severity = 0;
    let isSeen = false;
    for (; index < page.length && keyAt(page, index) >>> SEVERITY_BITS === lower; index++) {
      const time = timeAt(page, index);
      if (time >= since) severity = keyAt(page, index) & SEVERITIES;
      isSeen ||= time >= from;
    }
    if (isSeen) visitor(number * 2 ** PAGE_BITS + lower, severity);
  }
}

/** Removes the entries last seen before a time. @returns the number of entries left. */
function compact(page: Page, from: number): number {
  let kept = 0;
  for (let index = 0; index < page.length; index++) {
    if (timeAt(page, index) < from) continue;
    if (kept !== index) page.words.copyWithin(kept * WORDS, index * WORDS, (index + 1) * WORDS);
    kept++;
  }
  return kept;
}
