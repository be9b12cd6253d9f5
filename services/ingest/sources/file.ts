import { hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { parseObservedAt } from "@noisefloor/domain/observation.ts";
import type { PlacedRecord } from "../dead-letter.ts";
import type { FileRecord, LogFormat } from "../formats/format.ts";
import type { KeepDeadLetters } from "../pipeline.ts";
import { type RecordIds, recordIds } from "../record-id.ts";

/** A file to replay. */
export type LogFile = {
  /** What dead letters call it. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
};

/** Names that mean standard input. */
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
        files.push({ name: path, path, bytes: found.size });
      }
    }
  } catch (error) {
    await dispose();
    throw error;
  }
  return { files, dispose };
}

/** How a file's records become ours. */
export type ReadTerms = {
  readonly format: LogFormat;
  /** Milliseconds by which all times move. */
  readonly shiftMs: number;
  /** Hears how many bytes of the file, as it lies on disk, have been read since the last call. */
  readonly onBytes?: (bytes: number) => void;
};

/** A record read from a file: its observation carries an id, and its times are shifted. */
export type ReplayRecord = PlacedRecord &
  FileRecord & {
    /** Its number, from 0, among records of equal bytes. */
    readonly ordinal?: number;
  };

/**
 * Reads the records of some files in order. Those without an id get one made of their (shifted) content and their
 * ordinal among equal ones, over all the files together.
 */
export async function* readRecords(files: readonly LogFile[], terms: ReadTerms): AsyncGenerator<ReplayRecord> {
  const nextId = recordIds();
  const nextUnreadableId = recordIds();
  for (const file of files) {
    let position = 0;
    for await (const record of readFile(file, terms)) {
      position++;
      const place = { origin: file.name, position, fallbackId: "" };
      if (isRecord(record.value)) {
        const value = identify(shift(record.value, terms.shiftMs), record.bytes, nextId);
        yield { ...record, ...place, value, ordinal: ordinalIn(value.observation_id) };
      } else yield { ...record, ...place, ordinal: ordinalIn(nextUnreadableId(record.bytes.toString("latin1"))) };
    }
  }
}

/** Records that bring an id of their own are the same observation when they are equal, and the same dead letter. */
function ordinalIn(id: unknown): number {
  return Number(/^file:[0-9a-f]{32}\/(\d{1,10})$/.exec(String(id))?.[1] ?? 0);
}

/**
 * Keeps the dead letters of files. Each is known by its bytes, as an observation without an id is: the same file under
 * another name, unpacked, longer by now, or by standard input leads to the same letters. Where it stood is in its detail.
 */
export function fileDeadLetters(keep: KeepDeadLetters<PlacedRecord>): KeepDeadLetters<ReplayRecord> {
  return (rejected) =>
    keep(
      rejected.map(({ record, rejection: { reason, detail } }) => ({
        record: {
          ...record,
          origin: `sha256:${hash("sha256", record.bytes).slice(0, 32)}`,
          position: (record.ordinal ?? 0) + 1,
        },
        rejection: { reason, detail: `${detail} (${record.origin.toWellFormed()}, record ${record.position})` },
      })),
    );
}

/**
 * The newest time among the records of some files, in milliseconds; undefined when none has a time. Times after
 * `latest` are mistakes of some clock, and one of them must not move all the others.
 */
export async function newestTime(
  files: readonly LogFile[],
  terms: Omit<ReadTerms, "shiftMs"> & { readonly latest: number },
): Promise<number | undefined> {
  const { latest } = terms;
  let newest: number | undefined;
  for (const file of files) {
    for await (const { value } of readFile(file, terms)) {
      const time = isRecord(value) ? parseObservedAt(value.observed_at) : undefined;
      if (time !== undefined && time <= latest && (newest === undefined || time > newest)) newest = time;
    }
  }
  return newest;
}

async function* readFile(file: LogFile, terms: Pick<ReadTerms, "format" | "onBytes">): AsyncGenerator<FileRecord> {
  const raw = createReadStream(file.path, { highWaterMark: 256 * 1024 });
  let told = 0;
  try {
    for await (const record of terms.format.read((await isGzip(file)) ? unpack(raw) : raw)) {
      // Asked of the stream rather than heard from it: a listener for data would set it flowing before it is read.
      if (raw.bytesRead > told) terms.onBytes?.(raw.bytesRead - told);
      told = raw.bytesRead;
      yield record;
    }
  } finally {
    raw.destroy();
  }
}

function unpack(raw: Readable): Readable {
  const unpacked = createGunzip();
  raw.on("error", (error) => unpacked.destroy(error));
  return raw.pipe(unpacked);
}

/** Judged by the first two bytes: a name may lie, and standard input has none. */
async function isGzip(file: LogFile): Promise<boolean> {
  for await (const chunk of createReadStream(file.path, { start: 0, end: 1 })) {
    return Buffer.isBuffer(chunk) && chunk[0] === 0x1f && chunk[1] === 0x8b;
  }
  return false;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shift(value: Record<string, unknown>, byMs: number): Record<string, unknown> {
  const time = parseObservedAt(value.observed_at);
  if (byMs === 0 || time === undefined) return value;
  return { ...value, observed_at: new Date(time + byMs).toISOString() };
}

/** Made of the record's own bytes and its shifted time, so that a file shifted otherwise gives other observations. */
function identify(value: Record<string, unknown>, bytes: Buffer, nextId: RecordIds): Record<string, unknown> {
  if (value.observation_id !== undefined) return value;
  return { ...value, observation_id: nextId(`${String(value.observed_at)} ${bytes.toString("latin1")}`) };
}
