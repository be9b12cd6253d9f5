import type { Bits } from "./bits.ts";
import type { Facet } from "./facet.ts";
import { countSince, countStamped, indexOf, type SplitTime, startAt } from "./segment.ts";
import { TopCounts, type ValueCount } from "./top-counts.ts";

export type ValueCounting = {
  /** The addresses that count, one bit each. */
  readonly bits: Bits;
  /** They count under the values that they were seen with since then. */
  readonly since: SplitTime;
  /** How many values are returned. */
  readonly limit: number;
};

/** Members that are compared before others get their turn, a millisecond or two, and what a value costs beside them. */
const MEMBERS_PER_STEP = 300_000;
const MEMBERS_PER_VALUE = 5;

/** Counts distinct addresses by value: the values with the most, ties by their bytes. A generator, to yield between. */
export function* countValues(
  facet: Facet,
  { bits, since, limit }: ValueCounting,
): Generator<void, readonly ValueCount[]> {
  const { dictionary } = facet;
  const [loaded, ...added] = facet.layers.map(({ segment }) => segment);
  const top = new TopCounts(limit);
  const stamps = new Stamps(bits);
  const nexts = added.map(() => 0);
  let left = MEMBERS_PER_STEP;
  for (let value = 0; value < dictionary.size; value++) {
    const [start, end] = loaded === undefined ? [0, 0] : [startAt(loaded, value), loaded.ends[value] ?? 0];
    let isInAdded = false;
    for (let layer = 0; layer < added.length; layer++) {
      const values = added[layer]?.values;
      let next = nexts[layer] ?? 0;
      while (values !== undefined && next < values.length && (values[next] ?? 0) < value) next++;
      nexts[layer] = next;
      if (values?.[next] === value) isInAdded = true;
    }
    const isLoaded = loaded !== undefined && value < loaded.ends.length;
    const count = isInAdded
      ? stamps.count(facet, [value], since).count
      : isLoaded
        ? countSince(loaded, start, end, since, bits)
        : 0;
    top.add(count, () => dictionary.valueOf(value), isLoaded);
    left -= end - start + MEMBERS_PER_VALUE;
    if (left > 0) continue;
    left = MEMBERS_PER_STEP;
    yield;
  }
  return top.counts();
}

/** The same by a part of the values, by which they are grouped; an empty part does not count. */
export function* countParts(
  facet: Facet,
  partOf: (value: string) => string,
  { bits, since, limit }: ValueCounting,
): Generator<void, readonly ValueCount[]> {
  const top = new TopCounts(limit);
  const stamps = new Stamps(bits);
  let left = MEMBERS_PER_STEP;
  for (const [part, values] of yield* facet.groupedBy(partOf)) {
    if (part === "") continue;
    const { count, members } = stamps.count(facet, values, since);
    top.add(count, () => part);
    left -= members + values.length * MEMBERS_PER_VALUE;
    if (left > 0) continue;
    left = MEMBERS_PER_STEP;
    yield;
  }
  return top.counts();
}

/** Counts each address once that has several of some values, or one of them in several layers. */
class Stamps {
  readonly #bits: Bits;
  readonly #of: Uint32Array;
  #stamp = 0;

  constructor(bits: Bits) {
    this.#bits = bits;
    this.#of = new Uint32Array(bits.length * 32);
  }

  count({ layers }: Facet, values: readonly number[], since: SplitTime) {
    const stamp = ++this.#stamp;
    const isOnce = values.length === 1 && layers.length === 1;
    let [count, members] = [0, 0];
    for (const { segment } of layers) {
      for (const value of values) {
        const index = indexOf(segment, value);
        if (index === -1) continue;
        const [start, end] = [startAt(segment, index), segment.ends[index] ?? 0];
        members += end - start;
        count += isOnce
          ? countSince(segment, start, end, since, this.#bits)
          : countStamped(segment, start, end, since, this.#bits, { of: this.#of, stamp });
      }
    }
    return { count, members };
  }
}
