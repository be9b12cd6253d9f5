import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { DAY_MS } from "@noisefloor/domain/window.ts";
import type { Logger } from "pino";
import { RateLimiterMemory } from "rate-limiter-flexible";

/** Where lookups are counted at the moment: `shared-down` when all processes should count together but this one cannot. */
export type CountingState = "local" | "shared" | "shared-down";

/** Counts what has been used. A key names who, and the day. */
export type LookupCounter = {
  /** One more if that stays within the limit. What is refused does not count: clients repeat it. */
  take(key: string, limit: number): Promise<{ readonly isGranted: boolean; readonly used: number }>;
  /** Takes back one that was granted. */
  giveBack(key: string): Promise<void>;
  state(): CountingState;
  /** Keeps what must outlast the process. */
  close(): Promise<void>;
};

/** A day's counts are of no use after it, wherever the clocks of several processes stand. */
export const KEPT_SECONDS = (2 * DAY_MS) / 1_000;
const SAVE_INTERVAL_MS = 1_000;

/** Counts in memory. */
export function memoryCounter() {
  // The plans set the limits; the library's own is out of reach.
  const counts = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: KEPT_SECONDS });
  const usedOf = async (key: string) => (await counts.get(key))?.consumedPoints ?? 0;
  return {
    async take(key: string, limit: number) {
      // Counted before it is judged, with nothing awaited between: of two at once only one gets the last.
      const { consumedPoints } = await counts.penalty(key);
      if (consumedPoints <= limit) return { isGranted: true, used: consumedPoints };
      const { consumedPoints: used } = await counts.reward(key);
      return { isGranted: false, used };
    },
    async giveBack(key: string) {
      if ((await usedOf(key)) > 0) await counts.reward(key);
    },
    usedOf,
    async set(key: string, used: number) {
      await counts.set(key, used, KEPT_SECONDS);
    },
    dump: () => counts.dump(),
    restore: (dump: Parameters<typeof counts.restore>[0]) => counts.restore(dump),
  };
}

/** Counts in memory, and in a file that outlasts the process. Where the file cannot be written, in memory only. */
export async function fileCounter(file: string, log: Logger): Promise<LookupCounter> {
  const counter = memoryCounter();
  await restore(counter, file, log);
  let isChanged = false;
  let isTold = false;
  const save = async () => {
    if (!isChanged) return;
    isChanged = false;
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.new`, JSON.stringify(counter.dump()), { mode: 0o600 });
      await rename(`${file}.new`, file);
      isTold = false;
    } catch (error) {
      isChanged = true;
      if (!isTold) log.warn({ err: error, file }, "counts of lookups cannot be saved: a restart would forget them");
      isTold = true;
    }
  };
  // One after the other: two at once would write the same file.
  let saved = Promise.resolve();
  const timer = setInterval(() => {
    saved = saved.then(save);
  }, SAVE_INTERVAL_MS);
  timer.unref();
  return {
    take(key, limit) {
      isChanged = true;
      return counter.take(key, limit);
    },
    giveBack(key) {
      isChanged = true;
      return counter.giveBack(key);
    },
    state: () => "local",
    async close() {
      clearInterval(timer);
      await saved.then(save);
    },
  };
}

/** A file that cannot be read costs its counts and nothing else. */
async function restore(counter: ReturnType<typeof memoryCounter>, file: string, log: Logger): Promise<void> {
  try {
    if (counter.restore(JSON.parse(await readFile(file, "utf8"))) === undefined)
      throw new Error("it does not hold what this release writes");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
    log.warn({ err: error, file }, "counts of lookups cannot be read: they begin anew");
  }
}
