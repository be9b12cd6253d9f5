/** The highest value of the hash by which samples are selected. */
export const HIGHEST_HASH = 0xffff_ffff;

/** A threshold up to which, of `count` hash values, there are nearly always `wanted`, and not many more. */
export function thresholdFor(wanted: number, count: number): number {
  if (count <= wanted) return HIGHEST_HASH;
  return Math.min(HIGHEST_HASH, Math.ceil((HIGHEST_HASH * (wanted + 5 * Math.sqrt(wanted))) / count));
}
