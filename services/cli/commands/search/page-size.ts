/** The most addresses that a page of the API has. */
const MAX_SIZE = 10_000;
/** Smaller pages would take many requests. */
const MIN_SIZE = 1_000;

/**
 * All pages of a search have one size, and each listed address is a lookup, so pages of this size make up the limit. No
 * size does that for some limits above 10,000: then the last page lists a few more, fewer than there are pages.
 * @param limit positive; infinite for all that match.
 */
export function pageSizeFor(limit: number): number {
  if (limit <= MAX_SIZE) return limit;
  if (limit === Number.POSITIVE_INFINITY) return MAX_SIZE;
  for (let size = MAX_SIZE; size >= MIN_SIZE; size--) if (limit % size === 0) return size;
  return Math.ceil(limit / Math.ceil(limit / MAX_SIZE));
}
