import { parseObservedAt } from "@noisefloor/domain/observation/schema.ts";
import type { FileRecord } from "../../formats/format.ts";
import type { IncomingRecord } from "../../record.ts";
import { type RecordIds, recordIds } from "../../record-id.ts";
import { type LogFile, type ReadFileOptions, readFile } from "./log-files.ts";

export type ReadRecordsOptions = ReadFileOptions & {
  /** Milliseconds by which all times move. */
  readonly shiftMs: number;
};

/** A record read from a file: its observation carries an id, and its times are shifted. */
export type ReplayRecord = IncomingRecord &
  FileRecord & {
    /** The file that it came in. */
    readonly origin: string;
    /** Its position there, from 1. */
    readonly position: number;
    /** Its number, from 0, among records of equal bytes. */
    readonly ordinal?: number;
  };

/**
 * Reads the records of some files in order. Those without an id get one made of their (shifted) content and their
 * ordinal among equal ones, over all the files together.
 */
export async function* readRecords(
  files: readonly LogFile[],
  options: ReadRecordsOptions,
): AsyncGenerator<ReplayRecord> {
  const nextId = recordIds();
  const nextUnreadableId = recordIds();
  for (const file of files) {
    let position = 0;
    for await (const record of readFile(file, options)) {
      position++;
      const common = { origin: file.name, position, fallbackId: "" };
      if (record.ignored !== undefined) yield { ...record, ...common };
      else if (isRecord(record.value)) {
        const value = identify(shift(record.value, options.shiftMs), record.bytes, nextId);
        yield { ...record, ...common, value, ordinal: ordinalIn(value.observation_id) };
      } else yield { ...record, ...common, ordinal: ordinalIn(nextUnreadableId(record.bytes.toString("latin1"))) };
    }
  }
}

/** Equal records that bring an id of their own are one observation, and one dead letter. */
function ordinalIn(id: unknown): number {
  return Number(/^file:[0-9a-f]{32}\/(\d{1,10})$/.exec(String(id))?.[1] ?? 0);
}

/**
 * The newest time among the records of some files, in milliseconds; undefined when none has a time. Times after
 * `latest` are mistakes of some clock, and one of them must not move all the others.
 */
export async function newestTime(
  files: readonly LogFile[],
  { latest, ...options }: ReadFileOptions & { readonly latest: number },
): Promise<number | undefined> {
  let newest: number | undefined;
  for (const file of files) {
    for await (const { value } of readFile(file, options)) {
      const time = isRecord(value) ? parseObservedAt(value.observed_at) : undefined;
      if (time !== undefined && time <= latest && (newest === undefined || time > newest)) newest = time;
    }
  }
  return newest;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shift(value: Record<string, unknown>, byMs: number): Record<string, unknown> {
  const time = parseObservedAt(value.observed_at);
  if (byMs === 0 || time === undefined) return value;
  const observed_at = new Date(time + byMs).toISOString();
  // Shifted otherwise, its parts must not join the session of an earlier replay.
  const session = typeof value.session_id === "string" ? { session_id: `${value.session_id}${byMs}` } : {};
  return { ...value, ...session, observed_at };
}

/** Made of the record's own bytes and its shifted time, so that a file shifted otherwise gives other observations. */
function identify(value: Record<string, unknown>, bytes: Buffer, nextId: RecordIds): Record<string, unknown> {
  if (value.observation_id !== undefined) return value;
  return { ...value, observation_id: nextId(`${String(value.observed_at)} ${bytes.toString("latin1")}`) };
}
