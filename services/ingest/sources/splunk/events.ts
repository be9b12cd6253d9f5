import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import type { Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { MAX_SENSOR_RECORD_BYTES } from "../../formats/decoder.ts";
import { isFields, toText } from "../../formats/fields.ts";
import { BYTES_AT_ONCE, readingValue, skippingSpace } from "../../formats/json/scan.ts";
import { splitPayload } from "../../formats/json/split.ts";
import { type Envelope, readEnvelope } from "../../formats/wrapped/envelope.ts";
import { MAX_RECORDS } from "../http/operation.ts";
import { type Part, reserve } from "../http/records.ts";

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;

/** What is read of an envelope besides its event. */
const MEMBERS = ["sourcetype", "host", "time", "fields"];
/** The longest name of an envelope's member, or value of one, that is read; escapes take six bytes a character. */
const MAX_NAME_BYTES = 1024;

export type SplunkEvents = {
  /** The sensor's records. */
  readonly events: readonly Part[];
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
  return runInSteps(readingEvents(body, reservation));
}

function* readingEvents(body: Buffer, reservation: Reservation | undefined): Generator<void, SplunkEvents> {
  const events: Part[] = [];
  const types: (string | undefined)[] = [];
  let yieldAt = BYTES_AT_ONCE;
  for (let start = yield* skippingSpace(body, 0); start < body.length; ) {
    const members = new Map<string, Buffer>();
    const isObject = body[start] === OPEN_BRACE;
    const end = yield* readingValue(body, start, (valueStart, valueEnd, nameStart, nameEnd) => {
      const name = isObject ? readShortText(body.subarray(nameStart, nameEnd)) : undefined;
      if (name === "event" || (name !== undefined && MEMBERS.includes(name))) {
        members.set(name, body.subarray(valueStart, valueEnd));
      }
      return true;
    });
    if (end < 0) throw new HttpError(400, "Invalid data format: the body is not a sequence of JSON objects");
    const event = members.get("event");
    if (event === undefined || event.equals(EMPTY_TEXT)) {
      throw new HttpError(400, `Invalid data format: event ${types.length + 1} has no member "event"`);
    }
    const envelope = readAround(members);
    for (const bytes of readEvent(event, reservation)) events.push({ bytes, envelope });
    if (events.length > MAX_RECORDS) {
      throw new HttpError(413, `The request body has more than ${MAX_RECORDS} observations`);
    }
    types.push(readShortText(members.get("sourcetype")));
    start = yield* skippingSpace(body, end);
    if (start < yieldAt) continue;
    yieldAt = start + BYTES_AT_ONCE;
    yield;
  }
  const [sourcetype, ...others] = new Set(types);
  return { events, sourcetype: others.length === 0 ? sourcetype : undefined };
}

const EMPTY_TEXT = Buffer.from('""');

/** The records of an event: its own bytes, or what its text stands for, which may be several lines. */
function readEvent(event: Buffer, reservation: Reservation | undefined): readonly Buffer[] {
  // One that is too large is rejected as it is.
  if (event[0] !== QUOTE || event.length > MAX_SENSOR_RECORD_BYTES) return [event];
  // Unescaped, it has fewer bytes.
  reserve(reservation, event.length);
  const text = Buffer.from(toText(JSON.parse(event.toString("utf8"))) ?? "");
  const records = splitPayload(text, MAX_RECORDS);
  return Array.isArray(records) && records.length > 0 ? records : [text];
}

/** What an envelope says about its event. */
function readAround(members: ReadonlyMap<string, Buffer>): Envelope | undefined {
  const [host, time, fields] = ["host", "time", "fields"].map((name) => readShort(members.get(name)));
  if (host === undefined && time === undefined && fields === undefined) return undefined;
  return { sensor: toText(host) ?? (isFields(fields) ? readEnvelope(fields).sensor : undefined), time };
}

function readShort(json: Buffer | undefined): unknown {
  return json === undefined || json.length > MAX_NAME_BYTES ? undefined : JSON.parse(json.toString("utf8"));
}

/** A short text or number; undefined for anything else. */
function readShortText(json: Buffer | undefined): string | undefined {
  return toText(readShort(json));
}
