import { setTimeout as sleep } from "node:timers/promises";

/** Tries until the check passes; after `withinMs` throws what it threw last. */
export async function eventually<T>(check: () => Promise<T>, withinMs = 30_000): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}
