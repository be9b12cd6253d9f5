/** Neighbouring buckets: the number of the first one, and of the first after them. */
export type Buckets = { readonly first: number; readonly end: number };

type GroupOptions = {
  /** A group has so many candidates at most. A bucket that alone has more than one may have is its own group. */
  readonly mostPerQuery: number;
  readonly mostPerBucket: number;
  /** So few are not divided. */
  readonly few: number;
  readonly groupsAtOnce: number;
};

/**
 * Groups buckets that a query reads together. The groups have about as many candidates each, so that those that the
 * store works on at once take equally long.
 * @param candidates how many addresses are read of each bucket.
 */
export function* groupBuckets(
  candidates: readonly number[],
  { mostPerQuery, mostPerBucket, few, groupsAtOnce }: GroupOptions,
): Generator<Buckets> {
  // Of those that are alone, none are read.
  const isAlone = (bucket: number) => (candidates[bucket] ?? 0) > mostPerBucket;
  const read = candidates.map((count, bucket) => (isAlone(bucket) ? 0 : count));
  const all = read.reduce((sum, count) => sum + count, 0);
  const groups = all <= few ? 1 : groupsAtOnce * Math.ceil(all / (groupsAtOnce * mostPerQuery));
  const perGroup = Math.max(1, Math.ceil(all / groups));
  let [first, before, together] = [0, 0, 0];
  for (const [bucket, count] of read.entries()) {
    // Those before may have half a bucket more or less than their share.
    const share = perGroup * (Math.round(before / perGroup) + 1) - before;
    const isFull = together + count > mostPerQuery || together + count / 2 > share;
    if (bucket > first && (isFull || isAlone(bucket) || isAlone(bucket - 1))) {
      yield { first, end: bucket };
      [first, before, together] = [bucket, before + together, 0];
    }
    together += count;
  }
  if (candidates.length > first) yield { first, end: candidates.length };
}
