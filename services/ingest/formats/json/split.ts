import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { MAX_OBSERVATION_BYTES, MAX_OBSERVATIONS_PER_MESSAGE } from "@noisefloor/domain/observation/schema.ts";
import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import { createCutState, cutting, skipPadding } from "./cut.ts";
import { parseJson, rejectOversize } from "./parse.ts";
import { BYTES_AT_ONCE, readingValue, skippingSpace } from "./scan.ts";
import { skipSpaceBack } from "./tokens.ts";

const OPEN_BRACKET = 0x5b;

/**
 * Splits a payload into its records: JSON objects written over any lines, a JSON array, NDJSON, lines of text, the hits
 * of a search answer. Each record keeps the very bytes it came in, for its dead letter. Nothing is parsed yet, so that
 * a payload with too many records costs little: it is rejected for that whatever follows them.
 * @returns the records, or why the payload as a whole cannot be split.
 */
export function splitPayload(payload: Buffer, maxRecords: number): Buffer[] | Rejection {
  const pieces = splitting(payload, maxRecords);
  for (;;) {
    const piece = pieces.next();
    if (piece.done) return piece.value;
  }
}

/** Splits a payload of any size, and yields to the event loop meanwhile. */
export function splitInTurns(payload: Buffer, maxRecords: number): Promise<Buffer[] | Rejection> {
  return runInSteps(splitting(payload, maxRecords));
}

/** The rule for Kafka messages. */
export function splitMessage(payload: Buffer): Buffer[] | Rejection {
  return splitPayload(payload, MAX_OBSERVATIONS_PER_MESSAGE);
}

/** Splits a message of any size, and yields to the event loop during a large one. A small one needs no promise. */
export function splitMessageInTurns(payload: Buffer): Buffer[] | Rejection | Promise<Buffer[] | Rejection> {
  return payload.length <= BYTES_AT_ONCE ? splitMessage(payload) : splitInTurns(payload, MAX_OBSERVATIONS_PER_MESSAGE);
}

/** Parses one record's bytes. */
export function parseRecord(bytes: Buffer): { value: unknown } | Rejection {
  const content = withoutPadding(bytes);
  return rejectOversize(content.length, MAX_OBSERVATION_BYTES) ?? parseJson(content.toString("utf8"));
}

/** Yields after every {@link BYTES_AT_ONCE} of what it reads. */
function* splitting(payload: Buffer, maxRecords: number): Generator<void, Buffer[] | Rejection> {
  const text = withoutByteOrderMark(payload);
  const start = yield* skippingSpace(text, 0);
  const trimmed = text.subarray(start, skipSpaceBack(text, start, text.length));
  if (trimmed.length === 0) return { reason: "not-json", detail: "the payload is empty" };
  // Lines of text may begin with a bracket, too: nothing but a whole array is one.
  const elements = trimmed[0] === OPEN_BRACKET ? yield* splittingArray(trimmed, maxRecords) : undefined;
  const records = elements ?? (yield* splittingLines(trimmed, maxRecords));
  if (records.length > maxRecords) {
    return { reason: "too-many-observations", detail: `the payload has more than ${maxRecords} records` };
  }
  return records;
}

/** Stops after `maxRecords` + 1: a payload that is rejected anyway must not cost memory first. */
function* splittingLines(payload: Buffer, maxRecords: number): Generator<void, Buffer[]> {
  const records: Buffer[] = [];
  yield* cutting(payload, createCutState(), true, (record) => records.push(record) <= maxRecords);
  return records;
}

/** The elements of a JSON array as slices of its bytes, at most `maxRecords` + 1; undefined when it is not one. */
function* splittingArray(payload: Buffer, maxRecords: number): Generator<void, Buffer[] | undefined> {
  const elements: Buffer[] = [];
  const end = yield* readingValue(payload, 0, (start, end) => {
    elements.push(payload.subarray(start, end));
    return elements.length <= maxRecords;
  });
  return end === payload.length || elements.length > maxRecords ? elements : undefined;
}

/** Some programs begin every text with a byte order mark; it is no part of the JSON. */
export function withoutByteOrderMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** Without the NUL bytes that a truncated log has where its former records were. */
export function withoutPadding(bytes: Buffer): Buffer {
  return bytes[0] === 0 ? bytes.subarray(skipPadding(bytes, 0)) : bytes;
}
