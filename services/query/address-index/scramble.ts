import { randomInt } from "node:crypto";

/**
 * Known to this process alone. A sender who knew it could choose addresses that all belong into one page of the hash
 * table, and a search there would take longer with each of them.
 */
const SECRET = randomInt(2 ** 32);
const FIRST = 0x9e3779b1;
const SECOND = 0x85ebca6b;
const SHIFT = 15;
const FIRST_INVERSE = inverseOf(FIRST);
const SECOND_INVERSE = inverseOf(SECOND);

/**
 * Spreads addresses over all 32-bit integers, neighbours as far apart as others, and no two to the same one.
 * @returns a signed integer, which V8 never makes an object of.
 */
export function scramble(address: number): number {
  const product = Math.imul(address ^ SECRET, FIRST);
  return Math.imul(product ^ (product >>> SHIFT), SECOND);
}

/** The address that a signed or unsigned integer was made of. */
export function unscramble(scrambled: number): number {
  const shifted = Math.imul(scrambled, SECOND_INVERSE);
  const product = shifted ^ (shifted >>> SHIFT) ^ (shifted >>> (2 * SHIFT));
  return (Math.imul(product, FIRST_INVERSE) ^ SECRET) >>> 0;
}

/** What an odd number is to be multiplied by for 1, modulo 2^32. Each step doubles the right bits, at first three. */
function inverseOf(odd: number): number {
  let inverse = odd;
  for (let bits = 3; bits < 32; bits *= 2) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse;
}
