/**
 * Which addresses had which values, and when last: members by value, and each in two words. The first has the ordinal in
 * its lower 28 bits and the upper four bits of the time above them, the second has the time's other 32 bits. A time is in
 * milliseconds since the epoch of the index: 36 bits are two years of them. Nothing changes in a segment.
 */
export type Segment = {
  /** The numbers of the values, ascending. */
  readonly values: Uint32Array;
  /** Where the members of each value end. */
  readonly ends: Uint32Array;
  readonly ordinals: Uint32Array;
  readonly times: Uint32Array;
};

const ORDINAL_BITS = 28;
export const ORDINAL_MASK = 2 ** ORDINAL_BITS - 1;
export const MAX_ORDINALS = 2 ** ORDINAL_BITS;
export const MAX_TIME = 2 ** 36 - 1;

/** A time in the two words of a member: its upper bits, and the others. */
export type SplitTime = { readonly upper: number; readonly lower: number };

/** @param time in milliseconds since the epoch of the index. What is out of range is as far as the range goes. */
export function splitTime(time: number): SplitTime {
  const inRange = Math.min(MAX_TIME, Math.max(0, time));
  return { upper: Math.floor(inRange / 2 ** 32), lower: inRange % 2 ** 32 };
}

export const packOrdinal = (ordinal: number, upper: number) => ((upper << ORDINAL_BITS) | ordinal) >>> 0;

export const bytesOf = ({ values, ends, ordinals, times }: Segment) =>
  values.byteLength + ends.byteLength + ordinals.byteLength + times.byteLength;

/** Where the members of the value at an index begin. */
export const startAt = ({ ends }: Segment, index: number) => (index === 0 ? 0 : (ends[index - 1] ?? 0));

/** The index of a value, or -1. */
export function indexOf({ values }: Segment, value: number): number {
  // Nearly always the first segment has all values, and its numbers are their indexes.
  if (values[value] === value) return value;
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return values[low] === value ? low : -1;
}

/** Some members, by their indexes, the end exclusive. */
export type Slice = { readonly start: number; readonly end: number };

/** Whether a value has a member with this time or a later one, where its members are in the order of their ordinals. */
export function hasMember(segment: Segment, value: number, word: number, time: number): boolean {
  const { ordinals, times } = segment;
  const index = indexOf(segment, value);
  if (index === -1) return false;
  const ordinal = word & ORDINAL_MASK;
  let low = startAt(segment, index);
  let high = segment.ends[index] ?? 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (((ordinals[middle] ?? 0) & ORDINAL_MASK) < ordinal) low = middle + 1;
    else high = middle;
  }
  const stored = ordinals[low] ?? 0;
  const isMember = low < (segment.ends[index] ?? 0) && (stored & ORDINAL_MASK) === ordinal;
  return isMember && (stored > word || (stored === word && (times[low] ?? 0) >= time));
}

/** Sets the bits of the members in a slice whose time is not before a time. */
export function markSince(
  { ordinals, times }: Segment,
  { start, end }: Slice,
  since: SplitTime,
  bits: Uint32Array,
): void {
  const { upper, lower } = since;
  for (let index = start; index < end; index++) {
    const word = ordinals[index] ?? 0;
    const own = word >>> ORDINAL_BITS;
    if (own < upper || (own === upper && (times[index] ?? 0) < lower)) continue;
    const at = (word & ORDINAL_MASK) >>> 5;
    bits[at] = (bits[at] ?? 0) | (1 << word);
  }
}

/** Members whose times lie shortly before the one from which bits are set. */
export type DueMembers = { readonly ordinals: number[]; readonly times: number[] };

/** The same, and adds the others whose times are not before `from` to those that are due. */
export function markSinceWithDue(
  segment: Segment,
  { start, end }: Slice,
  { since, from }: { readonly since: SplitTime; readonly from: SplitTime },
  { bits, due }: { readonly bits: Uint32Array; readonly due: DueMembers },
): void {
  const { ordinals, times } = segment;
  for (let index = start; index < end; index++) {
    const word = ordinals[index] ?? 0;
    const upper = word >>> ORDINAL_BITS;
    const lower = times[index] ?? 0;
    if (upper > since.upper || (upper === since.upper && lower >= since.lower)) {
      const at = (word & ORDINAL_MASK) >>> 5;
      bits[at] = (bits[at] ?? 0) | (1 << word);
    } else if (upper > from.upper || (upper === from.upper && lower >= from.lower)) {
      due.ordinals.push(word & ORDINAL_MASK);
      due.times.push(upper * 2 ** 32 + lower);
    }
  }
}

/** How many of the members from `start` to `end`, whose time is not before a time, have their bit set. */
export function countSince(
  { ordinals, times }: Segment,
  start: number,
  end: number,
  { upper, lower }: SplitTime,
  bits: Uint32Array,
): number {
  let count = 0;
  for (let index = start; index < end; index++) {
    const word = ordinals[index] ?? 0;
    const own = word >>> ORDINAL_BITS;
    if (own < upper || (own === upper && (times[index] ?? 0) < lower)) continue;
    count += ((bits[(word & ORDINAL_MASK) >>> 5] ?? 0) >>> (word & 31)) & 1;
  }
  return count;
}

/** The same, without those that have a stamp; those that are counted get it. */
export function countStamped(
  { ordinals, times }: Segment,
  start: number,
  end: number,
  { upper, lower }: SplitTime,
  bits: Uint32Array,
  { of, stamp }: { readonly of: Uint32Array; readonly stamp: number },
): number {
  let count = 0;
  for (let index = start; index < end; index++) {
    const word = ordinals[index] ?? 0;
    const own = word >>> ORDINAL_BITS;
    if (own < upper || (own === upper && (times[index] ?? 0) < lower)) continue;
    const ordinal = word & ORDINAL_MASK;
    if ((((bits[ordinal >>> 5] ?? 0) >>> (ordinal & 31)) & 1) === 0 || of[ordinal] === stamp) continue;
    of[ordinal] = stamp;
    count++;
  }
  return count;
}

/** The members of one value, each once: where they are in two columns. */
export type MembersOfValue = { readonly value: number; readonly start: number; readonly end: number };

/** A segment of the members of different values. */
export function toSegment(
  groups: readonly MembersOfValue[],
  { ordinals, times }: Pick<Segment, "ordinals" | "times">,
): Segment {
  const members = groups.reduce((sum, { start, end }) => sum + end - start, 0);
  const inOrder = groups.toSorted((one, other) => one.value - other.value);
  const segment = {
    values: Uint32Array.from(inOrder, ({ value }) => value),
    ends: new Uint32Array(groups.length),
    ordinals: new Uint32Array(members),
    times: new Uint32Array(members),
  };
  let at = 0;
  for (const [index, { start, end }] of inOrder.entries()) {
    const byOrdinal = Uint32Array.from({ length: end - start }, (_, member) => start + member).sort(
      (one, other) => ((ordinals[one] ?? 0) & ORDINAL_MASK) - ((ordinals[other] ?? 0) & ORDINAL_MASK),
    );
    for (const member of byOrdinal) {
      segment.ordinals[at] = ordinals[member] ?? 0;
      segment.times[at++] = times[member] ?? 0;
    }
    segment.ends[index] = at;
  }
  return segment;
}

/** Members that are merged before others get their turn: they take some milliseconds. */
const MEMBERS_PER_STEP = 100_000;

/** The members of two segments in one, each once with its later time. A generator, so that the caller can yield. */
export function* mergeSegments(one: Segment, other: Segment): Generator<void, Segment> {
  const most = one.ordinals.length + other.ordinals.length;
  const values = new Uint32Array(one.values.length + other.values.length);
  const ends = new Uint32Array(values.length);
  const ordinals = new Uint32Array(most);
  const times = new Uint32Array(most);
  let [count, members, first, second, atYield] = [0, 0, 0, 0, 0];
  while (first < one.values.length || second < other.values.length) {
    const [ours, theirs] = [one.values[first] ?? Infinity, other.values[second] ?? Infinity];
    const value = Math.min(ours, theirs);
    const from: readonly [Segment, number][] = [
      ...(ours === value ? [[one, first++] as [Segment, number]] : []),
      ...(theirs === value ? [[other, second++] as [Segment, number]] : []),
    ];
    members = mergeMembers(from, { ordinals, times }, members);
    values[count] = value;
    ends[count++] = members;
    if (members - atYield < MEMBERS_PER_STEP) continue;
    atYield = members;
    yield;
  }
  return {
    values: values.slice(0, count),
    ends: ends.slice(0, count),
    ordinals: ordinals.slice(0, members),
    times: times.slice(0, members),
  };
}

/** Writes the members that a value has in one or two segments from an index on. @returns where they end. */
function mergeMembers(
  [one, other]: readonly (readonly [Segment, number])[],
  into: { readonly ordinals: Uint32Array; readonly times: Uint32Array },
  start: number,
): number {
  if (one === undefined) return start;
  const [a, aIndex] = one;
  let at = startAt(a, aIndex);
  const aEnd = a.ends[aIndex] ?? 0;
  if (other === undefined) {
    into.ordinals.set(a.ordinals.subarray(at, aEnd), start);
    into.times.set(a.times.subarray(at, aEnd), start);
    return start + aEnd - at;
  }
  const [b, bIndex] = other;
  let bAt = startAt(b, bIndex);
  const bEnd = b.ends[bIndex] ?? 0;
  let count = start;
  while (at < aEnd || bAt < bEnd) {
    const aWord = a.ordinals[at] ?? 0;
    const bWord = b.ordinals[bAt] ?? 0;
    const aOrdinal = at < aEnd ? aWord & ORDINAL_MASK : MAX_ORDINALS;
    const bOrdinal = bAt < bEnd ? bWord & ORDINAL_MASK : MAX_ORDINALS;
    const [aTime, bTime] = [a.times[at] ?? 0, b.times[bAt] ?? 0];
    const isLater =
      aOrdinal < bOrdinal || (aOrdinal === bOrdinal && (aWord > bWord || (aWord === bWord && aTime > bTime)));
    into.ordinals[count] = isLater ? aWord : bWord;
    into.times[count++] = isLater ? aTime : bTime;
    if (aOrdinal <= bOrdinal) at++;
    if (bOrdinal <= aOrdinal) bAt++;
  }
  return count;
}
