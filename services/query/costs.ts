/** What questions cost of the capacity that all callers share. Single lookups cost nothing: they share their queries. */
export const FULL_CONTEXT_COST = 1;
export const TIMELINE_COST = 2;

const ADDRESSES_PER_COST = 1_000;
const QUICK_ADDRESSES_PER_COST = 4_000;
const DAYS_PER_COST = 30;
const LISTED_BUCKETS_PER_COST = 540;

export function bulkCost(addresses: number, quick: boolean): number {
  return Math.max(1, Math.ceil(addresses / (quick ? QUICK_ADDRESSES_PER_COST : ADDRESSES_PER_COST)));
}

/** Two queries at once, or three, over so many days; each listed bucket is up to 1,000 addresses. */
export function activityCost({ days, buckets, includeIps }: { days: number; buckets: number; includeIps: boolean }) {
  return 2 + Math.ceil(days / DAYS_PER_COST) + (includeIps ? Math.ceil(buckets / LISTED_BUCKETS_PER_COST) : 0);
}
