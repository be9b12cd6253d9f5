import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { diskFile, type LogFile, type ReadFileOptions, readFile } from "./log-files.ts";
import { spoolInput } from "./standard-input.ts";

/** The argument that means standard input. */
export const STANDARD_INPUT = "-";

/** Why a file of a folder is not read. */
export type SkippedFile = { readonly path: string; readonly reason: string };

export type OpenFilesOptions = {
  /** Standard input; left out, it is spooled first, so that it can be read twice. */
  readonly live?: LogFile | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Decides on the files of folders. */
  readonly reading: Pick<ReadFileOptions, "formats" | "decode">;
  /** Called for each file below a folder that is not read, or not to its end. */
  readonly onSkipped: (skipped: SkippedFile) => void;
};

/**
 * The files behind some arguments, in their order; those below a folder, the oldest first, without what no format
 * knows. `dispose` removes temporary files.
 */
export async function openLogFiles(
  paths: readonly string[],
  standardInput: Readable,
  options: OpenFilesOptions,
): Promise<{ files: LogFile[]; dispose: () => Promise<void> }> {
  const files: LogFile[] = [];
  let dispose = async () => {};
  if (paths.filter((path) => path === STANDARD_INPUT).length > 1) {
    throw new Error("standard input can be read only once");
  }
  try {
    for (const path of paths) {
      if (path !== STANDARD_INPUT) files.push(...(await filesAt(path, options)));
      else if (options.live !== undefined) files.push(options.live);
      else {
        const spooled = await spoolInput(standardInput, options.signal);
        dispose = spooled.dispose;
        files.push(spooled.file);
      }
    }
  } catch (error) {
    await dispose();
    throw error;
  }
  return { files, dispose };
}

async function filesAt(path: string, options: OpenFilesOptions): Promise<LogFile[]> {
  const found = await stat(path);
  if (!found.isDirectory()) return [diskFile(path, found)];
  const files: LogFile[] = [];
  for await (const file of filesBelow(path, options)) {
    options.signal?.throwIfAborted();
    const reason = await whyNot(file, options.reading);
    if (reason === undefined) files.push(file);
    else options.onSkipped({ path: file.name, reason });
  }
  return files.sort(
    (one, other) => (one.modifiedAt ?? 0) - (other.modifiedAt ?? 0) || (one.name < other.name ? -1 : 1),
  );
}

/** Symbolic links are not followed: they lead out of the folder, or to a file that is found anyway. */
async function* filesBelow(
  folder: string,
  { onSkipped }: Pick<OpenFilesOptions, "onSkipped">,
): AsyncGenerator<LogFile> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const skip = (error: unknown) => onSkipped({ path, reason: messageOf(error) });
    try {
      if (entry.isDirectory()) yield* filesBelow(path, { onSkipped });
      else if (!entry.isFile()) skip("it is no regular file");
      else yield { ...diskFile(path, await stat(path)), onError: once(skip) };
    } catch (error) {
      // One that is closed to us, or was rotated away meanwhile, does not keep us from the others.
      skip(error);
    }
  }
}

function once(callback: (error: unknown) => void): (error: unknown) => void {
  let call: typeof callback | undefined = callback;
  return (error) => {
    call?.(error);
    call = undefined;
  };
}

/** As much of a file of a folder is read to see whether a format knows it. */
const SAMPLE_RECORDS = 1_000;
const SAMPLE_BYTES = 4 * 1024 * 1024;

/** @returns why a file is not read; undefined when a format knows one of its first records. */
async function whyNot(
  { onError, ...file }: LogFile,
  reading: OpenFilesOptions["reading"],
): Promise<string | undefined> {
  let [records, bytes] = [0, 0];
  try {
    for await (const record of readFile(file, reading)) {
      if (record.value !== undefined || record.format !== undefined) return undefined;
      records++;
      bytes += record.bytes.length;
      if (records >= SAMPLE_RECORDS || bytes >= SAMPLE_BYTES) break;
    }
  } catch (error) {
    return messageOf(error);
  }
  return records === 0 ? "it is empty" : `no format knows its first ${records} records`;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
