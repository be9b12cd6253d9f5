/** Runs tasks in the order in which they come, so many at once. */
export function createQueue(atOnce: number): (task: () => Promise<void>) => Promise<void> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const start = () => {
    if (running >= atOnce) return;
    const next = waiting.shift();
    if (next === undefined) return;
    running++;
    next();
  };
  return async (task) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      start();
    });
    try {
      await task();
    } finally {
      running--;
      start();
    }
  };
}
