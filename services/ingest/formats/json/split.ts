import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { MAX_OBSERVATION_BYTES, MAX_OBSERVATIONS_PER_MESSAGE } from "@noisefloor/domain/observation/schema.ts";
import { runInTurns } from "@noisefloor/domain/time/own-turn.ts";
import { countElements } from "./count-elements.ts";
import { parseJson, rejectOversize } from "./parse.ts";
import { BYTES_AT_ONCE, readingValue, skippingSpace } from "./scan.ts";
import { isSpace, skipSpace, skipSpaceBack } from "./tokens.ts";

const NEWLINE = 0x0a;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/**
 * Splits a payload into its records: one JSON object, a JSON array, or NDJSON. Each record keeps the very bytes it
 * came in, for its dead letter. Nothing is parsed yet, so that a payload with too many records costs little: it is
 * rejected for that whatever follows them.
 * @returns the records, or why the payload as a whole cannot be split.
 */
export function splitPayload(payload: Buffer, mostRecords: number): Buffer[] | Rejection {
  const pieces = splitting(payload, mostRecords);
  for (;;) {
    const piece = pieces.next();
    if (piece.done) return piece.value;
  }
}

/** The same of a payload of any size, while others get their turns. */
export function splitInTurns(payload: Buffer, mostRecords: number): Promise<Buffer[] | Rejection> {
  return runInTurns(splitting(payload, mostRecords));
}

/** The rule for Kafka messages. */
export function splitMessage(payload: Buffer): Buffer[] | Rejection {
  return splitPayload(payload, MAX_OBSERVATIONS_PER_MESSAGE);
}

/** The same of a message of any size, while others get their turns; most are small, and need no promise. */
export function splitMessageInTurns(payload: Buffer): Buffer[] | Rejection | Promise<Buffer[] | Rejection> {
  return payload.length <= BYTES_AT_ONCE ? splitMessage(payload) : splitInTurns(payload, MAX_OBSERVATIONS_PER_MESSAGE);
}

/** At least as many records as `splitMessage` finds, without splitting; exactly as many when the message is JSON. */
export function mostRecordsIn(message: Buffer): number {
  const bytes = withoutByteOrderMark(message);
  const start = skipSpace(bytes, 0);
  if (bytes[start] === OPEN_BRACKET) return countElements(bytes, start, MAX_OBSERVATIONS_PER_MESSAGE);
  let records = 1;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
    if (++records === MAX_OBSERVATIONS_PER_MESSAGE) break;
  }
  return records;
}

/** Parses one record's bytes. */
export function parseRecord(bytes: Buffer): { value: unknown } | Rejection {
  return rejectOversize(bytes, MAX_OBSERVATION_BYTES) ?? parseJson(bytes.toString("utf8"));
}

/** Yields after every {@link BYTES_AT_ONCE} of what it reads. */
function* splitting(payload: Buffer, mostRecords: number): Generator<void, Buffer[] | Rejection> {
  const text = withoutByteOrderMark(payload);
  const start = yield* skippingSpace(text, 0);
  const trimmed = text.subarray(start, skipSpaceBack(text, start, text.length));
  if (trimmed.length === 0) return { reason: "not-json", detail: "the payload is empty" };
  const isArray = trimmed[0] === OPEN_BRACKET;
  const records = yield* isArray ? splittingArray(trimmed, mostRecords) : splittingLines(trimmed, mostRecords);
  if (records === undefined)
    return { reason: "not-json", detail: "the payload starts like a JSON array, but is not one" };
  if (records.length > mostRecords) {
    return { reason: "too-many-observations", detail: `the payload has more than ${mostRecords} records` };
  }
  return records;
}

/** Stops one beyond the most: a payload that is rejected anyway must not cost memory first. */
function* splittingLines(payload: Buffer, most: number): Generator<void, Buffer[]> {
  // Without a line break it is one record, and so is one object written over several lines: only there is a line break
  // not an end.
  if (!payload.includes(NEWLINE)) return [payload];
  if (payload[0] === OPEN_BRACE && (yield* readingValue(payload, 0)) === payload.length) return [payload];
  const lines: Buffer[] = [];
  let yieldAt = BYTES_AT_ONCE;
  for (let start = 0; start < payload.length && lines.length <= most; ) {
    const newline = payload.indexOf(NEWLINE, start);
    const end = newline < 0 ? payload.length : newline;
    lines.push(payload.subarray(start, skipSpaceBack(payload, start, end)));
    start = skipSpace(payload, end, Math.min(end + 2, payload.length));
    // Blank lines, of which there may be millions, are skipped together.
    if (isSpace(payload[start])) start = yield* skippingSpace(payload, start);
    if (start < yieldAt) continue;
    yieldAt = start + BYTES_AT_ONCE;
    yield;
  }
  return lines;
}

/** The elements of a JSON array as slices of its bytes, one beyond the most at most; undefined when it is not JSON. */
function* splittingArray(payload: Buffer, most: number): Generator<void, Buffer[] | undefined> {
  const elements: Buffer[] = [];
  const end = yield* readingValue(payload, 0, (start, end) => {
    elements.push(payload.subarray(start, end));
    return elements.length <= most;
  });
  return end === payload.length || elements.length > most ? elements : undefined;
}

/** Some programs begin every text with a byte order mark; it is no part of the JSON. */
export function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
