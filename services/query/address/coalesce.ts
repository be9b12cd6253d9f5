/**
 * Turns a function that answers many keys at once into one that is asked a key at a time. A key asked while nothing is
 * under way is answered at once; keys asked while a call is under way wait and share the next one, up to `most`
 * distinct keys a call. A failed call rejects those who waited for it, and nobody else.
 */
export function coalesce<Value>(
  answerAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
  most: number,
): (key: string) => Promise<Value> {
  type Waiter = { resolve: (value: Value) => void; reject: (error: unknown) => void };
  const waiting = new Map<string, Waiter[]>();
  let isUnderWay = false;

  const answerNext = async () => {
    const batch = new Map([...waiting].slice(0, most));
    for (const key of batch.keys()) waiting.delete(key);
    try {
      const answers = await answerAll([...batch.keys()]);
      for (const [key, waiters] of batch) {
        const value = answers.get(key);
        for (const { resolve, reject } of waiters) {
          if (value === undefined) reject(new Error(`no answer for ${key}`));
          else resolve(value);
        }
      }
    } catch (error) {
      for (const { reject } of [...batch.values()].flat()) reject(error);
    }
  };
  const drain = async () => {
    isUnderWay = true;
    while (waiting.size > 0) await answerNext();
    isUnderWay = false;
  };

  return (key) =>
    new Promise((resolve, reject) => {
      const waiters = waiting.get(key) ?? [];
      waiters.push({ resolve, reject });
      waiting.set(key, waiters);
      if (!isUnderWay) void drain();
    });
}
