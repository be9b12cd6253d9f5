import { setTimeout as sleep } from "node:timers/promises";

/**
 * Repeats the check for some milliseconds: for what must not happen. Where an event follows of which one can be sure,
 * wait for that event instead.
 */
export async function throughout(ms: number, check: () => Promise<void> | void): Promise<void> {
  const end = Date.now() + ms;
  for (; Date.now() < end; await sleep(50)) await check();
  await check();
}

/** Repeats the check until it passes. @param within milliseconds, or a function that says whether to stop and throw the last error. */
export async function eventually<T>(check: () => Promise<T>, within: number | (() => boolean) = 30_000): Promise<T> {
  const start = Date.now();
  const isOver = () => (typeof within === "number" ? Date.now() - start > within : within());
  for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, 200)) {
    try {
      return await check();
    } catch (error) {
      if (isOver()) throw error;
      await sleep(pauseMs);
    }
  }
}
