import { runInTurns } from "@noisefloor/domain/time/own-turn.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { MAX_SENSOR_RECORD_BYTES } from "../../formats/decoder.ts";
import { toText } from "../../formats/fields.ts";
import { BYTES_AT_ONCE, readingValue, skippingSpace } from "../../formats/json/scan.ts";
import { MAX_RECORDS } from "./operation.ts";
import { reserve } from "./read-records.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/** The longest name of an envelope's member, or of a source type, that is read; escapes take six bytes a character. */
const MAX_NAME_BYTES = 1024;

export type SplunkEvents = {
  /** The sensor's records. */
  readonly events: readonly Buffer[];
  /** What the client calls all of them; undefined when it calls them differently, or nothing. */
  readonly sourcetype: string | undefined;
};

/**
 * Reads the body of an HTTP Event Collector request: envelopes one after the other, with or without white space between
 * them. Events that are objects are not parsed here: each goes on as the bytes that it came in.
 * @throws HttpError 400, 413, or 503 when memory is short.
 */
export function readSplunkEvents(body: unknown, reservation: Reservation | undefined): Promise<SplunkEvents> {
  if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "No data");
  return runInTurns(readingEvents(body, reservation));
}

function* readingEvents(body: Buffer, reservation: Reservation | undefined): Generator<void, SplunkEvents> {
  const events: Buffer[] = [];
  const types = new Set<string | undefined>();
  let yieldAt = BYTES_AT_ONCE;
  for (let start = yield* skippingSpace(body, 0); start < body.length; ) {
    const members = new Map<string, Buffer>();
    const isObject = body[start] === OPEN_BRACE;
    const end = yield* readingValue(body, start, (valueStart, valueEnd, nameStart, nameEnd) => {
      const name = isObject ? readShortText(body.subarray(nameStart, nameEnd)) : undefined;
      if (name === "event" || name === "sourcetype") members.set(name, body.subarray(valueStart, valueEnd));
      return true;
    });
    if (end < 0) throw new HttpError(400, "Invalid data format: the body is not a sequence of JSON objects");
    const event = members.get("event");
    if (event === undefined || event.equals(EMPTY_TEXT)) {
      throw new HttpError(400, `Invalid data format: event ${events.length + 1} has no member "event"`);
    }
    if (events.length === MAX_RECORDS) {
      throw new HttpError(413, `The request body has more than ${MAX_RECORDS} observations`);
    }
    events.push(readEvent(event, reservation));
    types.add(readShortText(members.get("sourcetype")));
    start = yield* skippingSpace(body, end);
    if (start < yieldAt) continue;
    yieldAt = start + BYTES_AT_ONCE;
    yield;
  }
  const [sourcetype] = types;
  return { events, sourcetype: types.size === 1 ? sourcetype : undefined };
}

const EMPTY_TEXT = Buffer.from('""');

/** The record of an event: its own bytes, or those that its text stands for. */
function readEvent(event: Buffer, reservation: Reservation | undefined): Buffer {
  // One that is too large is rejected as it is.
  if (event[0] !== QUOTE || event.length > MAX_SENSOR_RECORD_BYTES) return event;
  if (!event.includes(BACKSLASH)) return event.subarray(1, -1);
  // Unescaped, it has fewer bytes.
  reserve(reservation, event.length);
  return Buffer.from(toText(JSON.parse(event.toString("utf8"))) ?? "");
}

/** A short text or number; undefined for anything else. */
function readShortText(json: Buffer | undefined): string | undefined {
  if (json === undefined || json.length > MAX_NAME_BYTES) return undefined;
  return toText(JSON.parse(json.toString("utf8")));
}
