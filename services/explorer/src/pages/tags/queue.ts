/** Runs tasks in the order in which they come, at most `maxRunning` simultaneously. */
export function createQueue(maxRunning: number): (task: () => Promise<void>) => Promise<void> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const start = () => {
    if (running >= maxRunning) return;
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
