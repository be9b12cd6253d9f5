import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { MAX_OBSERVATION_BYTES, MAX_OBSERVATIONS_PER_MESSAGE } from "@noisefloor/domain/observation/schema.ts";
import { countElements, endOfValue, isSpace, skipSpace } from "./scan.ts";

const NEWLINE = 0x0a;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Splits a payload into its records: one JSON object, a JSON array, or NDJSON. Each record keeps the very bytes it
 * came in, for its dead letter. Nothing is parsed yet, so that a payload with too many records costs little: it is
 * rejected for that whatever follows them.
 * @returns the records, or why the payload as a whole cannot be split.
 */
export function splitPayload(payload: Buffer, mostRecords: number): Buffer[] | Rejection {
  const trimmed = trim(withoutByteOrderMark(payload));
  if (trimmed.length === 0) return { reason: "not-json", detail: "the payload is empty" };
  const records = trimmed[0] === OPEN_BRACKET ? splitArray(trimmed, mostRecords) : splitLines(trimmed, mostRecords);
  if (records === undefined)
    return { reason: "not-json", detail: "the payload starts like a JSON array, but is not one" };
  if (records.length > mostRecords) {
    return { reason: "too-many-observations", detail: `the payload has more than ${mostRecords} records` };
  }
  return records;
}

/** The rule for Kafka messages. */
export function splitMessage(payload: Buffer): Buffer[] | Rejection {
  return splitPayload(payload, MAX_OBSERVATIONS_PER_MESSAGE);
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
  if (bytes.length > MAX_OBSERVATION_BYTES) {
    return {
      reason: "oversize",
      detail: `the record has ${bytes.length} bytes, at most ${MAX_OBSERVATION_BYTES} are accepted`,
    };
  }
  try {
    return { value: JSON.parse(bytes.toString("utf8")) };
  } catch {
    return { reason: "not-json", detail: "the record is not JSON" };
  }
}

/** Stops one beyond the most: a payload that is rejected anyway must not cost memory first. */
function splitLines(payload: Buffer, most: number): Buffer[] {
  // Without a line break it is one record, and so is one object written over several lines: only there is a line break
  // not an end.
  if (!payload.includes(NEWLINE) || endOfValue(payload, 0) === payload.length) return [payload];
  const lines: Buffer[] = [];
  for (let start = 0; start < payload.length && lines.length <= most; ) {
    const end = payload.indexOf(NEWLINE, start);
    const line = trim(payload.subarray(start, end < 0 ? payload.length : end));
    if (line.length > 0) lines.push(line);
    start = end < 0 ? payload.length : end + 1;
  }
  return lines;
}

/** The elements of a JSON array as slices of its bytes, one beyond the most at most; undefined when it is not JSON. */
function splitArray(payload: Buffer, most: number): Buffer[] | undefined {
  const elements: Buffer[] = [];
  let at = skipSpace(payload, 1);
  if (payload[at] === CLOSE_BRACKET) return at + 1 === payload.length ? elements : undefined;
  for (;;) {
    const start = skipSpace(payload, at);
    const end = endOfValue(payload, start);
    if (end < 0) return undefined;
    elements.push(payload.subarray(start, end));
    if (elements.length > most) return elements;
    at = skipSpace(payload, end);
    if (payload[at] === CLOSE_BRACKET) return at + 1 === payload.length ? elements : undefined;
    if (payload[at] !== COMMA) return undefined;
    at++;
  }
}

/** Some programs begin every text with a byte order mark; it is no part of the JSON. */
export function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** Without the white space that JSON allows around a value. */
function trim(bytes: Buffer): Buffer {
  let start = 0;
  let end = bytes.length;
  while (start < end && isSpace(bytes[start])) start++;
  while (end > start && isSpace(bytes[end - 1])) end--;
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
}
