const DIGIT_BITS = 8;
const VALUES = 2 ** DIGIT_BITS;
const counts = new Uint32Array(VALUES);

/**
 * The lowest of the first `length` numbers for an `n` of 1, the next one for 2, and so on, those that are the same
 * included. Finds it digit by digit: how long that takes depends on how many numbers there are, not on their values.
 */
export function nthLowest(numbers: Uint32Array, length: number, n: number): number {
  let [known, mask, left] = [0, 0, n];
  for (let shift = 32 - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
    counts.fill(0);
    for (let place = 0; place < length; place++) {
      const number = numbers[place] ?? 0;
      if ((number & mask) !== known) continue;
      const digit = (number >>> shift) & (VALUES - 1);
      counts[digit] = (counts[digit] ?? 0) + 1;
    }
    let digit = 0;
    for (let count = counts[0] ?? 0; count < left && digit < VALUES - 1; count = counts[++digit] ?? 0) left -= count;
    known |= digit << shift;
    mask |= (VALUES - 1) << shift;
  }
  return known >>> 0;
}
