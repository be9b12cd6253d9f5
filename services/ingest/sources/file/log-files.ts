import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { inflateChunkBytes } from "@noisefloor/domain/inflate-chunk.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { DecodeOptions, FileRecord, LogFormat } from "../../formats/format.ts";
import { readRecordsOf } from "../../formats/read-file.ts";

/** A file to replay. */
export type LogFile = {
  /** Its name in dead letters. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  /** When it was last written, in milliseconds since 1970 UTC; left out for standard input. */
  readonly modifiedAt?: number;
};

/** The argument that means standard input. */
const STANDARD_INPUT = "-";

/**
 * The files behind some arguments. Standard input (`-`) is first written to a temporary file, because replaying may
 * have to read it twice. `dispose` removes that file again.
 */
export async function openLogFiles(
  paths: readonly string[],
  standardInput: Readable,
): Promise<{ files: LogFile[]; dispose: () => Promise<void> }> {
  const files: LogFile[] = [];
  let spool: string | undefined;
  const dispose = async () => {
    if (spool !== undefined) await rm(spool, { recursive: true, force: true });
  };
  try {
    for (const path of paths) {
      if (path === STANDARD_INPUT) {
        if (spool !== undefined) throw new Error("standard input can be read only once");
        spool = await mkdtemp(join(tmpdir(), "noisefloor-"));
        const copy = join(spool, "stdin");
        await pipeline(standardInput, createWriteStream(copy, { mode: 0o600 }));
        files.push({ name: "stdin", path: copy, bytes: (await stat(copy)).size });
      } else {
        const found = await stat(path);
        if (found.isDirectory()) throw new Error(`${path} is a folder`);
        files.push({ name: path, path, bytes: found.size, modifiedAt: found.mtimeMs });
      }
    }
  } catch (error) {
    await dispose();
    throw error;
  }
  return { files, dispose };
}

export type ReadFileOptions = {
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
  /** Called with how many bytes of the file, as it lies on disk, were read since the last call. */
  readonly onBytes?: (bytes: number) => void;
};

/** The records of a file, unpacked if it is gzip. */
export async function* readFile(
  file: LogFile,
  { formats, decode: decodeOptions, onBytes }: ReadFileOptions,
): AsyncGenerator<FileRecord> {
  const decode = { ...decodeOptions, latestTime: decodeOptions.latestTime ?? latestTimeOf(file, decodeOptions.now()) };
  const raw = createReadStream(file.path, { highWaterMark: 256 * 1024 });
  let reported = 0;
  try {
    for await (const record of readRecordsOf((await isGzip(file)) ? unpack(raw) : raw, formats, decode)) {
      // Polled, because a listener for data would start the stream before it is read.
      if (raw.bytesRead > reported) onBytes?.(raw.bytesRead - reported);
      reported = raw.bytesRead;
      yield record;
    }
  } catch (error) {
    const isCut = error instanceof Error && "code" in error && error.code === "Z_BUF_ERROR";
    throw isCut ? new Error(`${file.name} is truncated: its gzip data end early`, { cause: error }) : error;
  } finally {
    raw.destroy();
  }
}

/** Archives without dates give their files one of 1970 or 1980. */
const FIRST_DATE = Date.UTC(2000);

/** A line without a year was written before its file was last, give or take a zone. */
function latestTimeOf({ modifiedAt }: LogFile, now: number): number | undefined {
  return modifiedAt !== undefined && modifiedAt >= FIRST_DATE && modifiedAt < now ? modifiedAt + DAY_MS : undefined;
}

function unpack(raw: Readable): Readable {
  const unpacked = createGunzip({ chunkSize: inflateChunkBytes() });
  raw.on("error", (error) => unpacked.destroy(error));
  return raw.pipe(unpacked);
}

/** By the first two bytes: a name may be wrong, and standard input has none. */
async function isGzip(file: LogFile): Promise<boolean> {
  for await (const chunk of createReadStream(file.path, { start: 0, end: 1 })) {
    return Buffer.isBuffer(chunk) && chunk[0] === 0x1f && chunk[1] === 0x8b;
  }
  return false;
}
