import { setTimeout as sleep } from "node:timers/promises";

/** Tries until the check passes; after so many milliseconds, or once it is said to be over, throws what it threw last. */
export async function eventually<T>(check: () => Promise<T>, within: number | (() => boolean) = 30_000): Promise<T> {
  const start = Date.now();
  const isOver = () => (typeof within === "number" ? Date.now() - start > within : within());
  for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, 100)) {
    try {
      return await check();
    } catch (error) {
      if (isOver()) throw error;
      await sleep(pauseMs);
    }
  }
}
