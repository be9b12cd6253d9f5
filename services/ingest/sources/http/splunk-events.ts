import { HttpError } from "@noisefloor/http/errors.ts";
import { isFields, toText } from "../../formats/fields.ts";
import { endOfValue, skipSpace } from "../../formats/json/scan.ts";
import { MAX_RECORDS } from "./operation.ts";

export type SplunkEvents = {
  /** The sensor's records. */
  readonly events: readonly Buffer[];
  /** What the client calls all of them; undefined when it calls them differently, or nothing. */
  readonly sourcetype: string | undefined;
};

/**
 * Reads the body of an HTTP Event Collector request: envelopes one after the other, with or without white space between
 * them. @throws HttpError 400 or 413.
 */
export function readSplunkEvents(body: unknown): SplunkEvents {
  if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "No data");
  const events: Buffer[] = [];
  const types = new Set<string | undefined>();
  for (let start = skipSpace(body, 0); start < body.length; ) {
    const end = endOfValue(body, start);
    if (end < 0) throw new HttpError(400, "Invalid data format: the body is not a sequence of JSON objects");
    const envelope = parse(body.subarray(start, end));
    if (!isFields(envelope) || envelope.event === undefined || envelope.event === "") {
      throw new HttpError(400, `Invalid data format: event ${events.length + 1} has no member "event"`);
    }
    if (events.length === MAX_RECORDS) {
      throw new HttpError(413, `The request body has more than ${MAX_RECORDS} observations`);
    }
    const { event, sourcetype } = envelope;
    events.push(Buffer.from(typeof event === "string" ? event : JSON.stringify(event)));
    types.add(toText(sourcetype));
    start = skipSpace(body, end);
  }
  const [sourcetype] = types;
  return { events, sourcetype: types.size === 1 ? sourcetype : undefined };
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
