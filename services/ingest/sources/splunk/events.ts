import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import type { Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { isFields, toText } from "../../formats/fields.ts";
import { BYTES_AT_ONCE, readingValue, skippingSpace } from "../../formats/json/scan.ts";
import { type Envelope, readEnvelope } from "../../formats/wrapped/envelope.ts";
import { assertFewRecords, readEvent, readShort, readShortText } from "../http/json-reader.ts";
import type { Part } from "../http/records.ts";

const OPEN_BRACE = 0x7b;

/** What is read of an envelope besides its event. */
const MEMBERS = ["sourcetype", "host", "time", "fields"];

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
    assertFewRecords(events);
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

/** What an envelope says about its event. */
function readAround(members: ReadonlyMap<string, Buffer>): Envelope | undefined {
  const [host, time, fields] = ["host", "time", "fields"].map((name) => readShort(members.get(name)));
  if (host === undefined && time === undefined && fields === undefined) return undefined;
  return { sensor: toText(host) ?? (isFields(fields) ? readEnvelope(fields).sensor : undefined), time };
}
