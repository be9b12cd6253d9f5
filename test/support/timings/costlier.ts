import type { Counts } from "./counts.ts";

/** What each file costs, by its path. */
export type Timings = Readonly<Record<string, Readonly<Counts> & { readonly seconds: number }>>;

const COUNTS = ["starts", "worlds", "inserts"] as const;
/** A file's seconds vary: shorter ones are not compared. */
const MIN_SECONDS = 10;
/** A few more of a kind are no reason to fail, and a retry inserts again. */
const MAX_MORE: Readonly<Record<(typeof COUNTS)[number], number>> = { starts: 3, worlds: 5, inserts: 20 };

/**
 * The files that cost more than twice as much as before: `named` by their share of the run's seconds, as machines
 * differ in speed, and `failed` by what they started. A file without a line before is not compared.
 */
export function costlier(before: Timings, now: Timings): { readonly named: string[]; readonly failed: string[] } {
  const pairs = Object.entries(now).flatMap(([name, cost]) => {
    const earlier = before[name];
    return earlier === undefined ? [] : [{ name, cost, earlier }];
  });
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const speed =
    sum(pairs.map(({ cost }) => cost.seconds)) / Math.max(1, sum(pairs.map(({ earlier }) => earlier.seconds)));
  const named = pairs
    .filter(({ cost, earlier }) => cost.seconds > Math.max(MIN_SECONDS, 2 * speed * earlier.seconds))
    .map(({ name, cost, earlier }) => `${name} took ${cost.seconds} s, before ${earlier.seconds} s`);
  const failed = pairs.flatMap(({ name, cost, earlier }) =>
    COUNTS.filter((count) => cost[count] > 2 * earlier[count] && cost[count] > earlier[count] + MAX_MORE[count]).map(
      (count) => `${name}: ${cost[count]} ${count}, before ${earlier[count]}`,
    ),
  );
  return { named, failed };
}
