import type { LogFile, ReadFileOptions } from "@noisefloor/ingest/sources/file/log-files.ts";
import { openLogFiles, STANDARD_INPUT } from "@noisefloor/ingest/sources/file/open-files.ts";
import { openLiveInput } from "@noisefloor/ingest/sources/file/standard-input.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { Progress } from "../framework/progress.ts";
import { fileProgress } from "./progress.ts";

/** What a replay reads. */
export type ReplayInput = {
  /** What is looked at before anything is stored: the first records at least. */
  readonly first: readonly LogFile[];
  /**
   * All of it. What a part holds is stored before the next is read. @param advance called with units of progress for
   * what is no file on disk.
   */
  readonly parts: (advance: Progress["advance"]) => AsyncIterable<InputPart>;
  readonly openProgress: () => Progress;
  /** Stored as it comes: a pipe may stay open for days. */
  readonly isLive: boolean;
  /** Files below folders that are not read, or not to their end. */
  readonly skipped: () => number;
  readonly dispose: () => Promise<void>;
};

export type InputPart = {
  readonly files: readonly LogFile[];
  /** Called when all its records are stored. */
  readonly onStored: () => Promise<void>;
};

/**
 * Files, folders and standard input. @param isReadTwice whether all of it is read before it is stored: standard input
 * then has to end first.
 * @throws UserError
 */
export async function openFiles(
  paths: readonly string[],
  reading: Pick<ReadFileOptions, "formats" | "decode">,
  isReadTwice: boolean,
  { stdin, signal, settings, log }: CommandContext,
): Promise<ReplayInput> {
  let skipped = 0;
  const isLive = paths.includes(STANDARD_INPUT) && !isReadTwice;
  const { files, live, dispose } = await open().catch((error: unknown) => {
    throw new UserError(`cannot read the input: ${error instanceof Error ? error.message : String(error)}`);
  });
  async function open() {
    const live = isLive ? await openLiveInput(stdin, signal) : undefined;
    const onSkipped = (file: { path: string; reason: string }) => {
      skipped++;
      log.warn(file, "file skipped");
    };
    const opened = await openLogFiles(paths, stdin, { live: live?.file, signal, reading, onSkipped });
    return { ...opened, live };
  }
  return {
    first: live === undefined ? files : files.map((file) => (file === live.file ? live.head : file)),
    async *parts() {
      yield { files, onStored: async () => {} };
    },
    openProgress: () => fileProgress("Replaying", files, settings.logLevel !== "silent"),
    isLive,
    skipped: () => skipped,
    dispose,
  };
}
