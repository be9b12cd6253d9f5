import { DAY_MS } from "@noisefloor/domain/window.ts";

/** Where lookups are counted at the moment: `shared-down` when all processes should count together but this one cannot. */
export type CountingState = "local" | "shared" | "shared-down";

/** Counts what has been used. A key names the day and, after a colon, who: `2026-01-31:workspace:default`. */
export type LookupCounter = {
  /** So many more if they stay within the limit, else none. What is refused does not count: clients repeat it. */
  take(key: string, limit: number, lookups: number): Promise<{ readonly isGranted: boolean; readonly used: number }>;
  /** Takes back what was granted. */
  giveBack(key: string, lookups: number): Promise<void>;
  state(): CountingState;
  /** Keeps what must outlast the process. */
  close(): Promise<void>;
};

/** A day's counts are of no use after it, wherever the clocks of several processes stand. */
export const KEPT_SECONDS = (2 * DAY_MS) / 1_000;

/** Some 20 MB. Callers without a key cost nothing to make: without a bound they would fill the memory. */
export const MOST_CALLERS = 100_000;

/** What a caller has used, and of how much. */
export type Count = { readonly key: string; readonly used: number; readonly limit: number };

/** Counts in memory, the day of the last key and no other. */
export function memoryCounter(mostCallers = MOST_CALLERS) {
  const counts = new Map<string, Count>();
  let day = "";

  const turnTo = (key: string) => {
    const dayOfKey = key.slice(0, key.indexOf(":") + 1);
    if (dayOfKey === day) return;
    day = dayOfKey;
    for (const known of counts.keys()) if (!known.startsWith(day)) counts.delete(known);
  };
  const put = (count: Count) => {
    counts.set(count.key, count);
    if (counts.size > mostCallers) evictOldest();
  };
  /**
   * Forgets a tenth at once, so that the search is rarely made: those with the fewest lookups, who gain the least from
   * it, and of them the oldest. Never those at their limit: many made-up callers must not get one its lookups anew.
   */
  const evictOldest = () => {
    const below = [...counts.values()].filter(({ used, limit }) => used < limit).sort((a, b) => a.used - b.used);
    for (const { key } of below.slice(0, Math.ceil(mostCallers / 10))) counts.delete(key);
  };

  return {
    take(key: string, limit: number, lookups: number) {
      turnTo(key);
      const used = counts.get(key)?.used ?? 0;
      if (lookups === 0) return { isGranted: true, used };
      const isGranted = used + lookups <= limit;
      if (isGranted) put({ key, used: used + lookups, limit });
      return { isGranted, used: isGranted ? used + lookups : used };
    },
    giveBack(key: string, lookups: number) {
      const count = counts.get(key);
      if (count !== undefined) put({ ...count, used: Math.max(0, count.used - lookups) });
    },
    usedOf: (key: string) => counts.get(key)?.used ?? 0,
    set(count: Count) {
      turnTo(count.key);
      put(count);
    },
    all: () => [...counts.values()],
    /** Takes over what was kept, of whatever day: the next lookup tells which day it is. */
    restore(kept: readonly Count[]) {
      for (const count of kept) put(count);
    },
  };
}
