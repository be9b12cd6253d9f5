import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "@noisefloor/clickhouse/server/make-folder.ts";
import type { Logger } from "pino";
import { z } from "zod";
import { type LookupCounter, memoryCounter } from "./counter.ts";

const SAVE_INTERVAL_MS = 5_000;
/** A disk that hangs must not keep the process from ending. */
const CLOSE_WAIT_MS = 3_000;

const fileSchema = z.object({
  version: z.literal(1),
  storage: z.array(z.object({ key: z.string(), value: z.int().nonnegative(), limit: z.int().nonnegative() })),
});

/**
 * Counts in memory, and in a file that outlasts the process. Where the file cannot be written, in memory only.
 * @param file this process's own: two that wrote the same would take each other's counts away.
 */
export async function fileCounter(file: string, log: Logger): Promise<LookupCounter> {
  const counter = memoryCounter();
  await restore(counter, file, log);
  let isChanged = false;
  let isTold = false;
  const save = async () => {
    if (!isChanged) return;
    isChanged = false;
    try {
      await makeFolder(dirname(file));
      const storage = counter.all().map(({ key, used: value, limit }) => ({ key, value, limit }));
      await writeFile(`${file}.new`, JSON.stringify({ version: 1, storage }), { mode: 0o600 });
      await rename(`${file}.new`, file);
      isTold = false;
    } catch (error) {
      isChanged = true;
      if (!isTold) log.warn({ err: error, file }, "counts of lookups cannot be saved: a restart would forget them");
      isTold = true;
    }
  };
  // One after the other: two at once would write the same file.
  let saving: Promise<void> | undefined;
  const saveAlone = () => {
    saving ??= save().finally(() => {
      saving = undefined;
    });
    return saving;
  };
  const timer = setInterval(() => void saveAlone(), SAVE_INTERVAL_MS);
  timer.unref();
  return {
    async take(key, limit, lookups) {
      const answer = counter.take(key, limit, lookups);
      // Refusals leave the counts as they are: who only hears those must not keep the disk busy.
      if (answer.isGranted && lookups > 0) isChanged = true;
      return answer;
    },
    async giveBack(key, lookups) {
      isChanged = true;
      counter.giveBack(key, lookups);
    },
    state: () => "local",
    async close() {
      clearInterval(timer);
      // The second one keeps what was counted while the first was under way.
      const saved = saveAlone().then(saveAlone);
      const isLate = await Promise.race([saved.then(() => false), sleep(CLOSE_WAIT_MS, true, { ref: false })]);
      if (isLate) log.warn({ file }, "counts of lookups could not be saved in time: a restart forgets the latest");
    },
  };
}

/** A file that cannot be read costs its counts and nothing else. */
async function restore(counter: ReturnType<typeof memoryCounter>, file: string, log: Logger): Promise<void> {
  try {
    const { storage } = fileSchema.parse(JSON.parse(await readFile(file, "utf8")));
    counter.restore(storage.map(({ key, value: used, limit }) => ({ key, used, limit })));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
    log.warn({ err: error, file }, "counts of lookups cannot be read: they begin anew");
  }
}
