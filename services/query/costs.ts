import { MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";

/** Admission costs of requests, taken from QUERY_CAPACITY. Lookups of single addresses are free: they share queries. */
export const FULL_CONTEXT_COST = 1;
/** Up to two concurrent queries that group all observations of one address. */
export const TIMELINE_COST = 2;

/** A search in memory takes some milliseconds of a processor. */
export const MEMORY_SEARCH_COST = 1;

const ADDRESSES_PER_COST = 1_000;
const QUICK_ADDRESSES_PER_COST = 4_000;
const DAYS_PER_COST = 30;
const LISTED_BUCKETS_PER_COST = 540;

export function bulkCost(addresses: number, quick: boolean): number {
  return Math.max(1, Math.ceil(addresses / (quick ? QUICK_ADDRESSES_PER_COST : ADDRESSES_PER_COST)));
}

const FREE_CHARACTERS = 256;
const CHARACTERS_PER_COST = 2_048;

/**
 * To read a query, and to find what its conditions mean, by its length, as nobody knows more before it is read. Short
 * ones are free, so that they do not wait twice; one that is too long is rejected unread.
 */
export function readingCost({ length }: string): number {
  return length > MAX_QUERY_LENGTH ? 0 : Math.ceil(Math.max(0, length - FREE_CHARACTERS) / CHARACTERS_PER_COST);
}

/** One query over the addresses of the tags that name some CVEs. */
export const CVE_COST = 3;

/** One query over the addresses of all tags, of at most 14 days. */
export const SUMMARY_COST = 3;

/** Two concurrent queries over rows of addresses, not of observations. */
export const STATS_COST = 2;

/** Reads two columns of all observations of the addresses of some days. */
export const FIRST_SEEN_COST = 4;

/** Several queries, of which the largest is that of {@link FIRST_SEEN_COST}. */
export const TODAY_COST = 6;

const DAYS_OF_OBSERVATIONS_PER_COST = 15;
const CONDITIONS_PER_COST = 20;
const MAX_TIMESERIES_COST = 9;

/** Reads some columns of all observations of some days, and compares each of them with every condition. */
export function timeseriesCost({ days, conditions }: { days: number; conditions: number }): number {
  const more = Math.ceil(days / DAYS_OF_OBSERVATIONS_PER_COST) + Math.floor(conditions / CONDITIONS_PER_COST);
  return Math.min(MAX_TIMESERIES_COST, 3 + more);
}

/** Looks for a few names among the values of all addresses. */
export const NAMES_COST = 2;

/** Reads one row. */
export const TAG_RULE_COST = 1;

/** Two small concurrent queries. */
export const SENSORS_COST = 1;

/**
 * Concurrent queries that count, plus costs for the days that they read and for lists of up to 1,000 addresses a
 * bucket.
 */
export function activityCost({ days, buckets, includeIps }: { days: number; buckets: number; includeIps: boolean }) {
  return 2 + Math.ceil(days / DAYS_PER_COST) + (includeIps ? Math.ceil(buckets / LISTED_BUCKETS_PER_COST) : 0);
}

const HOSTS_PER_FEED_COST = { hosts: 250_000, items: 10_000, objects: 10_000 } as const;
const MAX_FEED_COST = 4;

/**
 * Writes a body of a feed: the addresses are in memory, items and objects are read. Small ones are free, so that
 * consumers that ask for changes do not wait in the queue.
 */
export function feedBodyCost(hosts: number, reads: keyof typeof HOSTS_PER_FEED_COST): number {
  return Math.min(MAX_FEED_COST, Math.round(hosts / HOSTS_PER_FEED_COST[reads]));
}

/** Two queries one after the other over the rows of callbacks, of which there are few beside observations. */
export const CALLBACKS_COST = 2;
