/** The halves of the number that ClickHouse combines with each value. */
const [SALT_HIGH, SALT_LOW] = [0x75d9543d, 0xe018bf45];

/**
 * ClickHouse's intHash32 of an address, by which the store selects samples: ours have the same addresses. It is defined
 * on 64 bits, which are two halves here, signed ones: big integers would take a hundred times as long.
 */
export function addressHash(address: number): number {
  let high = SALT_HIGH;
  let low = address ^ SALT_LOW;
  // value = ~value + (value << 18)
  let added = low << 18;
  let sum = (~low + added) | 0;
  high = (~high + ((high << 18) | (low >>> 14)) + carryOf(sum, added)) | 0;
  low = sum;
  // value ^= value rotated right by 31
  let turned = (low >>> 31) | (high << 1);
  high ^= (high >>> 31) | (low << 1);
  low ^= turned;
  // value *= 21
  const lower = (low & 0xffff) * 21;
  const upper = (low >>> 16) * 21 + (lower >>> 16);
  high = (Math.imul(high, 21) + (upper >>> 16)) | 0;
  low = (upper << 16) | (lower & 0xffff);
  // value ^= value rotated right by 11
  turned = (low >>> 11) | (high << 21);
  high ^= (high >>> 11) | (low << 21);
  low ^= turned;
  // value += value << 6
  added = low << 6;
  sum = (low + added) | 0;
  high = (high + ((high << 6) | (low >>> 26)) + carryOf(sum, added)) | 0;
  // The lower half of value ^ (value rotated right by 22).
  return (sum ^ ((sum >>> 22) | (high << 10))) >>> 0;
}

/** 1 where a sum went beyond 32 bits: then it is less than what was added to it. */
function carryOf(sum: number, added: number): 0 | 1 {
  return sum >>> 0 < added >>> 0 ? 1 : 0;
}

export const HIGHEST_HASH = 0xffff_ffff;

/** A threshold that, of `count` hash values, nearly always at least `wanted` do not exceed, and not many more. */
export function thresholdFor(wanted: number, count: number): number {
  if (count <= wanted) return HIGHEST_HASH;
  return Math.min(HIGHEST_HASH, Math.ceil((HIGHEST_HASH * (wanted + 5 * Math.sqrt(wanted))) / count));
}
