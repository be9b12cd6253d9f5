import { MAX_OBSERVATION_BYTES, MAX_OBSERVATIONS_PER_MESSAGE, type Rejection } from "@noisefloor/domain/observation.ts";

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Splits a payload into its records: one JSON object, a JSON array, or NDJSON. Each record keeps the very bytes it
 * came in, so that a dead letter can show them.
 * @returns the records, or why the payload as a whole cannot be taken apart.
 */
export function splitPayload(payload: Buffer, mostRecords: number): Buffer[] | Rejection {
  const trimmed = trim(payload);
  if (trimmed.length === 0) return { reason: "not-json", detail: "the payload is empty" };
  const records = trimmed[0] === OPEN_BRACKET ? splitArray(trimmed, mostRecords) : splitLines(trimmed, mostRecords);
  if (records === undefined) return { reason: "not-json", detail: "the payload starts like a JSON array but is none" };
  if (records.length > mostRecords) {
    return { reason: "too-many-observations", detail: `the payload has more than ${mostRecords} records` };
  }
  return records;
}

/** The rule for Kafka messages. */
export function splitMessage(payload: Buffer): Buffer[] | Rejection {
  return splitPayload(payload, MAX_OBSERVATIONS_PER_MESSAGE);
}

/** Parses one record's bytes. */
export function parseRecord(bytes: Buffer): { value: unknown } | Rejection {
  if (bytes.length > MAX_OBSERVATION_BYTES) {
    return {
      reason: "oversize",
      detail: `the record has ${bytes.length} bytes, at most ${MAX_OBSERVATION_BYTES} are taken`,
    };
  }
  try {
    return { value: JSON.parse(bytes.toString("utf8")) };
  } catch {
    return { reason: "not-json", detail: "the record is not JSON" };
  }
}

/** Stops one beyond the most: what would be refused anyway must not cost memory first. */
function splitLines(payload: Buffer, most: number): Buffer[] {
  // One object written over several lines is one record; only then is a line break not an end.
  if (payload.includes(NEWLINE) && isJson(payload)) return [payload];
  const lines: Buffer[] = [];
  for (let start = 0; start < payload.length && lines.length <= most; ) {
    const end = payload.indexOf(NEWLINE, start);
    const line = trim(payload.subarray(start, end < 0 ? payload.length : end));
    if (line.length > 0) lines.push(line);
    start = end < 0 ? payload.length : end + 1;
  }
  return lines;
}

/** The elements of a JSON array as slices of its bytes; undefined when it is not JSON. */
function splitArray(payload: Buffer, most: number): Buffer[] | undefined {
  if (!isJson(payload)) return undefined;
  const elements: Buffer[] = [];
  let depth = 0;
  let start = 1;
  for (let at = 0; at < payload.length && elements.length <= most; at++) {
    const byte = payload[at];
    if (byte === QUOTE) at = endOfString(payload, at);
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--;
    if ((byte === COMMA && depth === 1) || depth === 0) {
      const element = trim(payload.subarray(start, at));
      if (element.length > 0) elements.push(element);
      start = at + 1;
    }
  }
  return elements;
}

/** The position of the quote that ends the string which starts at `start`. The payload is known to be valid JSON. */
function endOfString(payload: Buffer, start: number): number {
  let at = start + 1;
  while (payload[at] !== QUOTE) at += payload[at] === BACKSLASH ? 2 : 1;
  return at;
}

function isJson(payload: Buffer): boolean {
  try {
    JSON.parse(payload.toString("utf8"));
    return true;
  } catch {
    return false;
  }
}

/** Without the white space that JSON allows around a value. */
function trim(bytes: Buffer): Buffer {
  let start = 0;
  let end = bytes.length;
  while (start < end && isSpace(bytes[start])) start++;
  while (end > start && isSpace(bytes[end - 1])) end--;
  return bytes.subarray(start, end);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
