import { idNamespaceOf, type Sender } from "@noisefloor/domain/access/publishing.ts";
import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { MAX_JSON_VALUES } from "@noisefloor/domain/text/json-bounds.ts";
import { createRecordPace } from "@noisefloor/domain/time/yield.ts";
import type { Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { type Decoder, openDecoder } from "../../formats/decoder.ts";
import { isFields } from "../../formats/fields.ts";
import type { DecodeOptions, FileRecord, LogFormat } from "../../formats/format.ts";
import { countIgnored, type IgnoredCounts } from "../../formats/ignored.ts";
import { splitInTurns } from "../../formats/json/split.ts";
import { observationsFormat } from "../../formats/observations.ts";
import type { Envelope } from "../../formats/wrapped/envelope.ts";
import type { IncomingRecord } from "../../record.ts";
import { requestRecordId } from "../../record-id.ts";
import { MAX_RECORDS } from "./operation.ts";

/** Measured: 330 to 410 for one that is rejected, if only of two bytes, and 580 to 900 for one that is stored. */
const RECORD_BYTES = 500;
/** What an empty object takes in memory and in the array that holds it: a record may hold one in every third byte. */
const CONTAINER_BYTES = 64;

/** Objects and texts inside of wrappers that are looked at for a request: a few for each record that it may have. */
const MAX_VISITS = 5 * MAX_RECORDS;

export const BUSY = "The intake is busy: send the request again in a few seconds";

/** A record of a request. */
export type RequestRecord = IncomingRecord & {
  /** The request that it came in. */
  readonly origin: string;
  /** Its position among those of the request, from 1. */
  readonly position: number;
  /** The part of the request that it came in, from 0. */
  readonly part: number;
  readonly sender: Sender;
};

/** The records of a request, and how many were no observations, by reason. */
export type RequestRecords = {
  readonly records: readonly RequestRecord[];
  readonly ignored: IgnoredCounts;
};

export type ReadOptions = {
  readonly sender: Sender;
  /** The name of the request. */
  readonly origin: string;
  readonly reservation: Reservation | undefined;
  /** What the records may be. */
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
  /** Aborts when nobody waits for the answer. */
  readonly signal?: AbortSignal | undefined;
};

/** Splits a body into the bytes of its records. @throws HttpError 400 or 413. */
export async function splitBody(body: unknown): Promise<Part[]> {
  if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "The request body is empty");
  const parts = await splitInTurns(body, MAX_RECORDS);
  if ("reason" in parts && parts.reason === "too-many-observations") {
    throw new HttpError(413, `The request body has more than ${MAX_RECORDS} observations`);
  }
  if (!Array.isArray(parts)) throw new HttpError(400, "The request body is empty");
  return parts.map((bytes) => ({ bytes }));
}

/** Reserves memory for what is made of a body. @throws HttpError 503 when it is short. */
export function reserve(reservation: Reservation | undefined, bytes: number): void {
  if (!reservation?.grow(bytes)) throw new HttpError(503, BUSY);
}

/** A record's bytes, and what its sender says about it. */
export type Part = {
  readonly bytes: Buffer;
  readonly envelope?: Envelope | undefined;
  /** What it may be; left out, what the request may hold. */
  readonly formats?: readonly LogFormat[] | undefined;
  /** The id of its observation, unless that states one itself. */
  readonly observationId?: string | undefined;
  /** Why it is none that can be read. */
  readonly rejection?: Rejection | undefined;
};

/** Decodes the records of a request. @throws HttpError 503 when memory is short. */
export async function readRecords(parts: readonly Part[], options: ReadOptions): Promise<RequestRecords> {
  const { sender, origin, reservation, formats } = options;
  // Before anything else is made of them: a hundred bytes of gzip may hold as many records as a request may have.
  reserve(reservation, parts.length * RECORD_BYTES);
  const idNamespace = idNamespaceOf(sender);
  const records: RequestRecord[] = [];
  const ignored = countIgnored();
  // A key for one sensor says whose records these are, whatever name the log gives its sensor.
  const sensorId = sender.sensorId ?? options.decode.sensorId;
  const decodeOptions = { ...options.decode, sensorId, visits: { left: MAX_VISITS } };
  const decoders = new Map<readonly LogFormat[], Decoder>();
  const decoderOf = (some: readonly LogFormat[]) => {
    const decode = decoders.get(some) ?? openDecoder(some, decodeOptions);
    decoders.set(some, decode);
    return decode;
  };
  const pace = createRecordPace();
  let read = 0;
  const common = (part: number) => {
    const shared = { origin, position: read + 1, part, fallbackId: requestRecordId(origin, read), idNamespace, sender };
    read++;
    return shared;
  };
  for (const [part, { bytes, envelope, observationId, rejection, formats: own = formats }] of parts.entries()) {
    const pause = pace(bytes.length);
    if (pause !== undefined) await pause;
    options.signal?.throwIfAborted();
    reserve(reservation, Math.min(countBrackets(bytes), MAX_JSON_VALUES) * CONTAINER_BYTES);
    const isOurs = own.length === 1 && own[0] === observationsFormat;
    if (rejection !== undefined || (isOurs && observationId === undefined)) {
      records.push({ bytes, rejection, ...common(part) });
      continue;
    }
    const decoded = decoderOf(own)(bytes, envelope);
    if (decoded.length > 1) reserve(reservation, decoded.length * RECORD_BYTES);
    for (const [index, record] of decoded.entries()) {
      const shared = common(part);
      if (ignored.add(record)) continue;
      const id = observationId && (index === 0 ? observationId : `${observationId}/${index}`);
      records.push({ ...record, ...shared, ...(id && { value: withId(record, id) }) });
    }
  }
  return { records, ignored: ignored.counts };
}

/** A record's value with the id that its sender gave it: only one that the observation itself states prevails. */
function withId({ value, format }: FileRecord, id: string): unknown {
  if (!isFields(value)) return value;
  const isOurs = (format ?? observationsFormat.name) === observationsFormat.name;
  return isOurs ? { observation_id: id, ...value } : { ...value, observation_id: id };
}

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/** How many objects and arrays begin in JSON at most: brackets in its texts count, too. */
function countBrackets(bytes: Buffer): number {
  let brackets = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE) brackets++;
  }
  return brackets;
}
