import { parseObservedAt } from "@noisefloor/domain/observation/schema.ts";
import { type Fields, isFields } from "../../formats/fields.ts";
import type { FileRecord } from "../../formats/format.ts";
import type { IncomingRecord } from "../../record.ts";
import { openIdentities } from "./identify.ts";
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
  const identify = openIdentities();
  for (const file of files) {
    let position = 0;
    for await (const record of readFile(file, options)) {
      position++;
      const common = { origin: file.name, position, fallbackId: "" };
      if (record.ignored !== undefined) yield { ...record, ...common };
      else if (isFields(record.value)) {
        const value = shift(record.value, options.shiftMs);
        yield { ...record, ...common, ...identify({ ...record, value }) };
      } else yield { ...record, ...common, ...identify(record) };
    }
  }
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
      const time = isFields(value) ? parseObservedAt(value.observed_at) : undefined;
      if (time !== undefined && time <= latest && (newest === undefined || time > newest)) newest = time;
    }
  }
  return newest;
}

function shift(value: Fields, byMs: number): Fields {
  const time = parseObservedAt(value.observed_at);
  if (byMs === 0 || time === undefined) return value;
  const observed_at = new Date(time + byMs).toISOString();
  // Shifted otherwise, its parts must not join the session of an earlier replay.
  const session = typeof value.session_id === "string" ? { session_id: `${value.session_id}${byMs}` } : {};
  return { ...value, ...session, observed_at };
}
