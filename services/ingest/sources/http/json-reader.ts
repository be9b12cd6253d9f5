import type { Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { MAX_SENSOR_RECORD_BYTES } from "../../formats/decoder.ts";
import { toText } from "../../formats/fields.ts";
import { BYTES_AT_ONCE, readingValue, skippingSpace } from "../../formats/json/scan.ts";
import { splitPayload } from "../../formats/json/split.ts";
import { MAX_RECORDS } from "./operation.ts";
import { reserve } from "./records.ts";

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/** The longest name of a member, or short value of one, that is read; escapes take six bytes a character. */
const MAX_NAME_BYTES = 1024;
/** Elements of all arrays of a body: each record may lie in two arrays of its own. */
const MAX_ELEMENTS = 3 * MAX_RECORDS;
/** What a small value costs besides its bytes. */
const BYTES_OF_CALL = 64;

/** Reads values of a JSON body as their bytes, and yields after every {@link BYTES_AT_ONCE}. */
export type JsonReader = {
  /**
   * The members of an object with these names; of one that repeats the last counts. Undefined for anything else: a
   * missing value, another one than an object, or no JSON.
   */
  members(json: Buffer | undefined, names: readonly string[]): Generator<void, Members | undefined>;
  /** The elements of an array; none of a missing value or null. @throws HttpError 400 for another value, and 413. */
  elements(json: Buffer | undefined): Generator<void, readonly Buffer[]>;
};
type Members = ReadonlyMap<string, Buffer>;

/** A reader for one body: it stops at a number of elements that no body of records needs. */
export function openJsonReader(): JsonReader {
  let elementsLeft = MAX_ELEMENTS;
  let untilYield = BYTES_AT_ONCE;
  function* reading(json: Buffer, onItem: Parameters<typeof readingValue>[2]): Generator<void, boolean> {
    untilYield -= json.length + BYTES_OF_CALL;
    if (untilYield < 0) {
      untilYield = BYTES_AT_ONCE;
      yield;
    }
    const end = yield* readingValue(json, yield* skippingSpace(json, 0), onItem);
    return end >= 0 && (yield* skippingSpace(json, end)) === json.length;
  }
  return {
    *members(json, names) {
      if (json === undefined || json[yield* skippingSpace(json, 0)] !== OPEN_BRACE) return undefined;
      const members = new Map<string, Buffer>();
      const isJson = yield* reading(json, (start, end, nameStart, nameEnd) => {
        const name = readShortText(json.subarray(nameStart, nameEnd));
        if (name !== undefined && names.includes(name)) members.set(name, json.subarray(start, end));
        return true;
      });
      return isJson ? members : undefined;
    },
    *elements(json) {
      const elements: Buffer[] = [];
      if (json === undefined || json.equals(NULL)) return elements;
      if (json[0] !== OPEN_BRACKET) throw new HttpError(400, "A value in the body should be an array and is none");
      yield* reading(json, (start, end) => {
        elements.push(json.subarray(start, end));
        return elements.length <= elementsLeft;
      });
      elementsLeft -= elements.length;
      if (elementsLeft < 0) throw tooMany();
      return elements;
    },
  };
}

const NULL = Buffer.from("null");

/** The records of a JSON value: its own bytes, or what its text stands for, which may be several lines. */
export function readEvent(event: Buffer, reservation: Reservation | undefined): readonly Buffer[] {
  // One that is too large is rejected as it is.
  if (event[0] !== QUOTE || event.length > MAX_SENSOR_RECORD_BYTES) return [event];
  // Unescaped, it has fewer bytes.
  reserve(reservation, event.length);
  const text = Buffer.from(toText(JSON.parse(event.toString("utf8"))) ?? "");
  const records = splitPayload(text, MAX_RECORDS);
  return Array.isArray(records) && records.length > 0 ? records : [text];
}

/** @throws HttpError 413 when a body has more records than a request may have. */
export function assertFewRecords({ length }: readonly unknown[]): void {
  if (length > MAX_RECORDS) throw tooMany();
}

const tooMany = () => new HttpError(413, `The request body has more than ${MAX_RECORDS} observations`);

export function readShort(json: Buffer | undefined): unknown {
  return json === undefined || json.length > MAX_NAME_BYTES ? undefined : JSON.parse(json.toString("utf8"));
}

/** A short text or number; undefined for anything else. */
export function readShortText(json: Buffer | undefined): string | undefined {
  return toText(readShort(json));
}
