import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "@noisefloor/clickhouse/embedded/make-folder.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { Logger } from "pino";
import { z } from "zod";
import { type LookupCounter, memoryCounter } from "./memory-counter.ts";

const SAVE_INTERVAL_MS = 5_000;
/** A disk that hangs must not delay the shutdown any longer. */
const CLOSE_TIMEOUT_MS = 3_000;

const fileSchema = z.object({
  version: z.literal(1),
  storage: z.array(z.object({ key: z.string(), value: z.int().nonnegative(), limit: z.int().nonnegative() })),
});

/**
 * Counts in memory, and saves the counts in a file. Where the file cannot be written, counts in memory only.
 * @param file only this process may write it: two processes would overwrite each other's counts.
 */
export async function fileCounter(file: string, log: Logger): Promise<LookupCounter> {
  const counter = memoryCounter();
  await restore(counter, file, log);
  let isChanged = false;
  const save = async () => {
    if (!isChanged) return;
    isChanged = false;
    try {
      await makeFolder(dirname(file));
      const storage = counter.all().map(({ key, used: value, limit }) => ({ key, value, limit }));
      await writeFile(`${file}.new`, JSON.stringify({ version: 1, storage }), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (error) {
      isChanged = true;
      throw error;
    }
  };
  // Only one at a time, as all write the same file.
  const saves = repeatEvery(save, {
    everyMs: SAVE_INTERVAL_MS,
    onError: (error) => log.warn({ err: error, file }, "saving the lookup counts failed; a restart would lose them"),
  });
  return {
    async take(key, limit, lookups) {
      const result = counter.take(key, limit, lookups);
      // Rejected lookups change no count, so they must not cause writes.
      if (result.isGranted && lookups > 0) isChanged = true;
      return result;
    },
    async refund(key, lookups) {
      isChanged = true;
      counter.refund(key, lookups);
    },
    state: () => "local",
    async close() {
      // The second save includes what was counted during the first.
      const saved = saves.run().then(saves.run).then(saves.stop);
      const isLate = await Promise.race([saved.then(() => false), sleep(CLOSE_TIMEOUT_MS, true, { ref: false })]);
      if (isLate) log.warn({ file }, "saving the lookup counts timed out; a restart loses the latest");
    },
  };
}

/** Counts start at zero when the file cannot be read. */
async function restore(counter: ReturnType<typeof memoryCounter>, file: string, log: Logger): Promise<void> {
  try {
    const { storage } = fileSchema.parse(JSON.parse(await readFile(file, "utf8")));
    counter.restore(storage.map(({ key, value: used, limit }) => ({ key, used, limit })));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
    log.warn({ err: error, file }, "reading the lookup counts failed; counting from zero");
  }
}
