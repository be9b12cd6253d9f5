/** Random numbers from 0 to 1, 1 excluded. */
export type Random = () => number;

/** The same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number of 32 bits made of up to four whole numbers; a change of any of them gives quite another. */
export function mix(a: number, b = 0, c = 0, d = 0): number {
  return mixIn(mixIn(mixIn(mixIn(0x9e3779b9, a), b), c), d) >>> 0;
}

function mixIn(hash: number, part: number): number {
  let mixed = Math.imul(hash ^ part ^ Math.imul(Math.floor(part / 2 ** 32), 0x27d4eb2f), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** The same from 0 to 1, 1 excluded. */
export const chance = (a: number, b = 0, c = 0, d = 0): number => mix(a, b, c, d) / 2 ** 32;

/**
 * @param at from 0 to 1, 1 excluded.
 * @throws RangeError for an empty list.
 */
export function pick<T>(list: readonly T[], at: number): T {
  const entry = list[Math.floor(at * list.length)];
  if (entry === undefined) throw new RangeError("nothing to pick from");
  return entry;
}

/** Picks from a list by weight: a number from 0 to 1 gives an entry, in constant time (Vose's alias method). */
export function weightedPick<T>(entries: readonly (readonly [value: T, weight: number])[]): (at: number) => T {
  const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
  const share = entries.map(([, weight]) => (weight / total) * entries.length);
  const other = entries.map((_, index) => index);
  const small = share.flatMap((value, index) => (value < 1 ? [index] : []));
  const large = share.flatMap((value, index) => (value < 1 ? [] : [index]));
  for (let low = small.pop(), high = large.pop(); low !== undefined && high !== undefined; low = small.pop()) {
    other[low] = high;
    const remainder = (share[high] ?? 0) - (1 - (share[low] ?? 0));
    share[high] = remainder;
    if (remainder >= 1) continue;
    small.push(high);
    high = large.pop();
  }
  const values = entries.map(([value]) => value);
  return (at) => {
    const scaled = at * values.length;
    const index = Math.floor(scaled);
    const isOwn = scaled - index < (share[index] ?? 1);
    return pick(values, ((isOwn ? index : (other[index] ?? index)) + 0.5) / values.length);
  };
}
