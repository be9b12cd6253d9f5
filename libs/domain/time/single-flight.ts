export type SingleFlight<Key, Value> = {
  /** Starts it, or shares the run with this key that is under way. A failure reaches all who share the run. */
  (key: Key, start: () => Promise<Value>): Promise<Value>;
  /** Whether a call with this key would share a run or its result. */
  has(key: Key): boolean;
  /** Resolves when the runs that are under way have ended, also those that fail. */
  settled(): Promise<void>;
};

/**
 * Calls with the same key at the same time share one run.
 *
 * Not for a caller that must see a change made before its call, which the shared run may have begun without: put what
 * changes into the key, or wait for the run and start another. Not for work that ends when its callers lose interest
 * (`createSharedRuns` in services/query), nor for work at intervals (`repeatEvery`).
 * @param options `keepsResults`: successful results also answer later calls, and only failures are forgotten. The number
 * of keys must then have a bound.
 */
export function createSingleFlight<Key, Value>({ keepsResults = false } = {}): SingleFlight<Key, Value> {
  const runs = new Map<Key, Promise<Value>>();
  const share = (key: Key, start: () => Promise<Value>): Promise<Value> => {
    const shared = runs.get(key);
    if (shared !== undefined) return shared;
    const run = start();
    const forget = () => runs.delete(key);
    runs.set(key, run);
    run.then(keepsResults ? undefined : forget, forget);
    return run;
  };
  return Object.assign(share, {
    has: (key: Key) => runs.has(key),
    settled: async () => void (await Promise.allSettled(runs.values())),
  });
}
