/**
 * Turns a function that loads many keys per call into one that loads a single key. While a call runs, further keys wait
 * and share the next call, up to `maxKeys` distinct keys. A failed call rejects only the keys that it was to load.
 */
export function coalesce<Value>(
  loadMany: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
  maxKeys: number,
): (key: string) => Promise<Value> {
  type Waiter = { resolve: (value: Value) => void; reject: (error: unknown) => void };
  const waiting = new Map<string, Waiter[]>();
  let isRunning = false;

  const loadNext = async () => {
    const batch = new Map([...waiting].slice(0, maxKeys));
    for (const key of batch.keys()) waiting.delete(key);
    try {
      const values = await loadMany([...batch.keys()]);
      for (const [key, waiters] of batch) {
        const value = values.get(key);
        for (const { resolve, reject } of waiters) {
          if (value === undefined) reject(new Error(`no value for ${key}`));
          else resolve(value);
        }
      }
    } catch (error) {
      for (const { reject } of [...batch.values()].flat()) reject(error);
    }
  };
  const drain = async () => {
    isRunning = true;
    while (waiting.size > 0) await loadNext();
    isRunning = false;
  };

  return (key) =>
    new Promise((resolve, reject) => {
      const waiters = waiting.get(key) ?? [];
      waiters.push({ resolve, reject });
      waiting.set(key, waiters);
      if (!isRunning) void drain();
    });
}
