import { createReadStream, ReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { constants, createGunzip } from "node:zlib";
import { inflateChunkBytes } from "@noisefloor/domain/inflate-chunk.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { DecodeOptions, FileRecord, LogFormat } from "../../formats/format.ts";
import { readRecordsOf } from "../../formats/read-file.ts";

/** A file to replay, or what is read like one. */
export type LogFile = {
  /** Its name in dead letters. */
  readonly name: string;
  /** 0 where it is unknown. */
  readonly bytes: number;
  /** When it was last written, in milliseconds since 1970 UTC; left out for standard input. */
  readonly modifiedAt?: number;
  /** Its bytes, from the first on. Standard input that is not kept can be opened once. */
  readonly open: () => Readable;
  /** Only the beginning of it: its gzip data may end anywhere. */
  readonly isCut?: true;
  /** Called when it cannot be read to its end, which then counts as its end. */
  readonly onError?: (error: unknown) => void;
};

/** A file on disk. */
export function diskFile(
  path: string,
  { size, mtimeMs }: { readonly size: number; readonly mtimeMs: number },
): LogFile {
  return { ...openable(path), name: path, bytes: size, modifiedAt: mtimeMs };
}

export const openable = (path: string) => ({ open: () => createReadStream(path, { highWaterMark: 256 * 1024 }) });

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
  const raw = file.open();
  let reported = 0;
  try {
    for await (const record of readRecordsOf(await unpacked(raw, file.isCut), formats, decode)) {
      // Polled, because a listener for data would start the stream before it is read.
      const bytesRead = raw instanceof ReadStream ? raw.bytesRead : 0;
      if (bytesRead > reported) onBytes?.(bytesRead - reported);
      reported = bytesRead;
      yield record;
    }
  } catch (error) {
    const isEarlyEnd = error instanceof Error && "code" in error && error.code === "Z_BUF_ERROR";
    const told = isEarlyEnd ? new Error(`${file.name} is truncated: its gzip data end early`, { cause: error }) : error;
    if (file.onError === undefined) throw told;
    file.onError(told);
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

/** By the first two bytes: a name may be wrong, and standard input has none. */
async function unpacked(raw: Readable, isCut: boolean | undefined): Promise<Readable> {
  const chunks: AsyncIterator<Buffer> = raw[Symbol.asyncIterator]();
  let first: Buffer = Buffer.alloc(0);
  for (let isEnd = false; first.length < 2 && !isEnd; ) {
    const { value, done } = await chunks.next();
    isEnd = done === true;
    if (value !== undefined) first = Buffer.concat([first, value]);
  }
  const whole = Readable.from(
    (async function* () {
      yield first;
      yield* { [Symbol.asyncIterator]: () => chunks };
    })(),
    { objectMode: false },
  );
  if (first[0] !== 0x1f || first[1] !== 0x8b) return whole;
  const finishFlush = isCut ? { finishFlush: constants.Z_SYNC_FLUSH } : {};
  return pipeline(whole, createGunzip({ chunkSize: inflateChunkBytes(), ...finishFlush }), () => {});
}
