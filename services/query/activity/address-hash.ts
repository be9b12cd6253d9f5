/** The halves of the number that ClickHouse combines with each value. */
const [SALT_HIGH, SALT_LOW] = [0x75d9543d, 0xe018bf45];
const TWO_TO_32 = 2 ** 32;

/**
 * ClickHouse's intHash32 of an address, by which the store selects samples: ours have the same addresses. It is defined
 * on 64 bits, which are two halves here: big integers would take a hundred times as long.
 */
export function addressHash(address: number): number {
  let high = SALT_HIGH;
  let low = (address ^ SALT_LOW) >>> 0;
  // value = ~value + (value << 18)
  let sum = (~low >>> 0) + ((low << 18) >>> 0);
  high = (~high + ((high << 18) | (low >>> 14)) + (sum >= TWO_TO_32 ? 1 : 0)) | 0;
  low = sum >>> 0;
  // value ^= value rotated right by 31
  let turned = (low >>> 31) | (high << 1);
  high ^= (high >>> 31) | (low << 1);
  low = (low ^ turned) >>> 0;
  // value *= 21
  sum = low * 21;
  high = (Math.imul(high, 21) + Math.floor(sum / TWO_TO_32)) | 0;
  low = sum >>> 0;
  // value ^= value rotated right by 11
  turned = (low >>> 11) | (high << 21);
  high ^= (high >>> 11) | (low << 21);
  low = (low ^ turned) >>> 0;
  // value += value << 6
  sum = low + ((low << 6) >>> 0);
  high = (high + ((high << 6) | (low >>> 26)) + (sum >= TWO_TO_32 ? 1 : 0)) | 0;
  low = sum >>> 0;
  // The lower half of value ^ (value rotated right by 22).
  return (low ^ ((low >>> 22) | (high << 10))) >>> 0;
}
