/** Runs functions, at most some of them at the same time: the others wait in the order in which they came. */
export type Limited = <T>(run: () => Promise<T>) => Promise<T>;

export function limitConcurrency(max: number): Limited {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (run) => {
    if (running < max) running++;
    // The one that ends leaves its turn to the first that waits.
    else await new Promise<void>((start) => waiting.push(start));
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
