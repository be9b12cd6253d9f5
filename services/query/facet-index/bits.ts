/** Sets of addresses as words of bits, one bit for each ordinal. All have the same length. */
export type Bits = Uint32Array<ArrayBuffer>;

export function andInto(into: Bits, bits: Bits): void {
  for (let word = 0; word < into.length; word++) into[word] = (into[word] ?? 0) & (bits[word] ?? 0);
}

export function orInto(into: Bits, bits: Bits): void {
  for (let word = 0; word < into.length; word++) into[word] = (into[word] ?? 0) | (bits[word] ?? 0);
}

export function andNotInto(into: Bits, bits: Bits): void {
  for (let word = 0; word < into.length; word++) into[word] = (into[word] ?? 0) & ~(bits[word] ?? 0);
}

/** How many addresses are in both sets. */
export function countBoth(one: Bits, other: Bits): number {
  let count = 0;
  for (let word = 0; word < one.length; word++) count += bitsOf((one[word] ?? 0) & (other[word] ?? 0));
  return count;
}

export const countBits = (bits: Bits): number => countBoth(bits, bits);

/** How many bits of a word are set. */
function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** The ordinals of a set from one on, ascending. */
export function* ordinalsFrom(bits: Bits, first: number): Generator<number> {
  for (let word = first >>> 5; word < bits.length; word++) {
    let left = (bits[word] ?? 0) & (word === first >>> 5 ? -1 << first : -1);
    while (left !== 0) {
      const bit = 31 - Math.clz32(left & -left);
      yield word * 32 + bit;
      left &= left - 1;
    }
  }
}
