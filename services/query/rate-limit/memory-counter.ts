import { DAY_MS } from "@noisefloor/domain/time/window.ts";

/** Where lookups are counted at the moment. `shared-down`: in this process, because Redis is down. */
export type CountingState = "local" | "shared" | "shared-down";

/** Counts lookups by key, which is the day, a colon and the owner: `2026-01-31:workspace:default`. */
export type LookupCounter = {
  /** Counts all of them if they stay within the limit, else none: clients repeat rejected requests. */
  take(key: string, limit: number, lookups: number): Promise<{ readonly isGranted: boolean; readonly used: number }>;
  /** Uncounts granted lookups. */
  refund(key: string, lookups: number): Promise<void>;
  state(): CountingState;
  /** Saves the counts that must survive the process. */
  close(): Promise<void>;
};

/** Counts are of no use after their day. The second day allows for clocks that differ. */
export const COUNT_TTL_SECONDS = (2 * DAY_MS) / 1_000;

/** About 20 MB. Callers without a key are easy to fake, so without a limit they would exhaust the memory. */
export const MAX_CALLERS = 100_000;

/** The lookups that a caller has used of its limit. */
export type Count = { readonly key: string; readonly used: number; readonly limit: number };

/** Counts in memory, only for the day of the latest key. */
export function memoryCounter(maxCallers = MAX_CALLERS) {
  const counts = new Map<string, Count>();
  let day = "";

  const startDayOf = (key: string) => {
    const dayOfKey = key.slice(0, key.indexOf(":") + 1);
    if (dayOfKey === day) return;
    day = dayOfKey;
    for (const counted of counts.keys()) if (!counted.startsWith(day)) counts.delete(counted);
  };
  const put = (count: Count) => {
    counts.set(count.key, count);
    if (counts.size > maxCallers) evictSmallest();
  };
  /**
   * Evicts a tenth of all, so that sorting is rare: the callers with the fewest lookups, of these the oldest. Never
   * evicts callers at their limit, else many faked callers could reset a real one.
   */
  const evictSmallest = () => {
    const below = [...counts.values()].filter(({ used, limit }) => used < limit).sort((a, b) => a.used - b.used);
    for (const { key } of below.slice(0, Math.ceil(maxCallers / 10))) counts.delete(key);
  };

  return {
    take(key: string, limit: number, lookups: number) {
      startDayOf(key);
      const used = counts.get(key)?.used ?? 0;
      if (lookups === 0) return { isGranted: true, used };
      const isGranted = used + lookups <= limit;
      if (isGranted) put({ key, used: used + lookups, limit });
      return { isGranted, used: isGranted ? used + lookups : used };
    },
    refund(key: string, lookups: number) {
      const count = counts.get(key);
      if (count !== undefined) put({ ...count, used: Math.max(0, count.used - lookups) });
    },
    usedOf: (key: string) => counts.get(key)?.used ?? 0,
    set(count: Count) {
      startDayOf(count.key);
      put(count);
    },
    all: () => [...counts.values()],
    /** Adds saved counts of any day; the next lookup removes those of other days. */
    restore(saved: readonly Count[]) {
      for (const count of saved) put(count);
    },
  };
}
