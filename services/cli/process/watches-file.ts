import { readFile } from "node:fs/promises";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { applyWatchesFile, type FileRules, readWatchesFile } from "@noisefloor/query/watches/file.ts";
import { WrongWatchError } from "@noisefloor/query/watches/routes/definition.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { parse, YAMLParseError } from "yaml";

const EVERY_MS = 10_000;
const FIRST_MS = 1_000;

/**
 * Reads WATCHES_FILE, and again whenever it changes. While it is wrong, the watches stay as they are, and the log says why.
 * @returns what ends it.
 */
export function followWatchesFile(
  path: string,
  rules: FileRules,
  log: Logger,
  { everyMs = EVERY_MS, firstMs = FIRST_MS } = {},
): () => Promise<void> {
  let applied: string | undefined;
  let refused: string | undefined;
  const { stop } = repeatEvery(
    async () => {
      const text = await readFile(path, "utf8");
      if (text === applied) return;
      try {
        const changes = await applyWatchesFile(readWatchesFile(parse(text)), rules);
        applied = text;
        log.info({ file: path, ...changes }, "read the file of watches");
      } catch (error) {
        if (!(error instanceof WrongWatchError || error instanceof YAMLParseError)) throw error;
        // Once for each text and reason: the workspace may come later.
        const reason = `${text} ${error.message}`;
        if (reason !== refused) log.error({ file: path, reason: error.message }, "the file of watches is wrong");
        refused = reason;
      }
    },
    {
      everyMs,
      firstMs,
      onError: (error) => log.error({ err: error, file: path }, "could not read the file of watches, retrying"),
      onRecovery: () => log.info({ file: path }, "the file of watches can be read again"),
    },
  );
  return stop;
}
