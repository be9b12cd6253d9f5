/** What is usual for a count. */
export type Expected = { readonly median: number; readonly low: number; readonly high: number };

/** Fewer days tell nothing about what is usual. */
export const MIN_DAYS = 14;
/** How many days are looked back at most: each weekday counts four times. */
export const MAX_DAYS = 28;

/** Turns the median distance from the median into the standard deviation of a normal distribution. */
const MAD_TO_DEVIATION = 1.4826;
/** How many deviations are usual. */
const DEVIATIONS = 4;

/**
 * The range that counts of earlier days make usual: their median, and four deviations around it, which are those of a
 * count by chance at least. Days of an earlier rise move neither much.
 */
export function expectedOf(counts: readonly number[]): Expected {
  const center = medianOf(counts);
  const spread = medianOf(counts.map((count) => Math.abs(count - center))) * MAD_TO_DEVIATION;
  const usual = DEVIATIONS * Math.max(spread, Math.sqrt(center), 1);
  return { median: center, low: Math.max(0, center - usual), high: center + usual };
}

/** With fewer tags, or smaller ones, chance makes a level. */
const MIN_TAGS = 5;
const MIN_MEDIAN = 10;

/**
 * By which factor most tags are above what is usual, as when sensors were added: of no tag alone is that a rise.
 * @param tags the addresses of each, and those of each of its earlier days. @returns 1 where most are not above it, or are few.
 */
export function levelOf(tags: readonly { readonly addresses: number; readonly past: readonly number[] }[]): number {
  const ratios = tags.flatMap(({ addresses, past }) => {
    const center = medianOf(past);
    return center >= MIN_MEDIAN ? [addresses / center] : [];
  });
  return ratios.length < MIN_TAGS ? 1 : Math.max(1, medianOf(ratios));
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
