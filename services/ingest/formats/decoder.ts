import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { MAX_OBSERVATION_BYTES } from "@noisefloor/domain/observation/schema.ts";
import { LOG_FORMATS } from "./all.ts";
import { type Fields, isFields } from "./fields.ts";
import type { Decoded, DecodeOptions, FileRecord, LogFormat } from "./format.ts";
import { parseJson, rejectOversize } from "./json/parse.ts";
import { withoutPadding } from "./json/split.ts";
import { observationsFormat, readObservation } from "./observations.ts";
import { explainOtherFormat, recognize } from "./recognize.ts";
import { type LineDecoder, openLines } from "./text/text-lines.ts";
import { readTime } from "./times.ts";
import { type Envelope, mayNameSensor, nestEnvelopes, readMixedSensor, timeIn } from "./wrapped/envelope.ts";
import { findWrapped, type Wrapped, type WrappedRecord } from "./wrapped/find-records.ts";

/** Sensors log whole payloads: their records may be larger than an observation. */
export const MAX_SENSOR_RECORD_BYTES = 1024 * 1024;

/**
 * Decodes the records of one stream in order. Most are one record; a wrapper may hold several. @param envelope what the
 * sender says about the record.
 */
export type Decoder = (bytes: Buffer, envelope?: Envelope) => readonly FileRecord[];

const OPEN_BRACE = 0x7b;
const NOT_JSON = "the record is not JSON";
const APOSTROPHE = 0x27;

/** Whether it begins like a JSON object; Python's dicts, which are lines of text, begin with an apostrophe, too. */
const beginsObject = (bytes: Buffer) => bytes[0] === OPEN_BRACE && bytes[1] !== APOSTROPHE;

/**
 * Begins a stream of records in some formats: each record is decoded by the one that recognises it, or by the only one
 * there is. What none recognises is looked into: shippers wrap records. A stream may mix formats; a header holds until
 * another one comes.
 */
export function openDecoder(formats: readonly LogFormat[], options: DecodeOptions): Decoder {
  const [only] = formats.length === 1 ? formats : [];
  if (only === observationsFormat) return (bytes) => [decodeOwn(bytes)];
  const lines = openLines(formats);
  // Lines in wrappers are a stream of their own: beside a log in text, any program's `message` would count as its line.
  const wrappedLines = openLines(formats);

  const decodeFields = (bytes: Buffer, value: Fields, format: LogFormat, envelope: Envelope | undefined) => {
    if (format === observationsFormat) return toOwn(bytes, value, envelope);
    return finish(bytes, decodeAround(format, value, options, envelope), format.name, options);
  };
  const decodeLine = (bytes: Buffer, line: string, reader: LineDecoder, envelope: Envelope | undefined) => {
    const decoded = reader.decode(line, within(options, envelope));
    return decoded && finish(bytes, decoded, decoded.format, options);
  };
  const decodeWrapped = ({ records, rejection }: Wrapped, outer: Buffer): readonly FileRecord[] | undefined => {
    if (records.length === 0) return rejection && [{ bytes: outer, rejection }];
    return records.map((record) => decodeInner(record, records.length === 1 ? outer : toBytes(record.value)));
  };
  const decodeInner = ({ value, envelope }: WrappedRecord, bytes: Buffer): FileRecord => {
    if (typeof value === "string") {
      return decodeLine(bytes, value, wrappedLines, envelope) ?? reject(bytes, "unknown-format", UNKNOWN_LINE);
    }
    const format = isFields(value) ? (recognize(formats, value) ?? only) : undefined;
    if (!isFields(value) || format === undefined) return reject(bytes, "unknown-format", UNKNOWN);
    return decodeFields(bytes, value, format, envelope);
  };
  const isRecord = (value: Fields | string) => {
    if (typeof value === "string") return wrappedLines.recognizes(value);
    if (recognize(formats, value) !== undefined) return true;
    // A field map that says nothing about how its records look reads any that has its source.
    return only?.json !== undefined && !LOG_FORMATS.includes(only) && "observation" in only.json.decode(value, options);
  };

  const decodeText = (bytes: Buffer, text: string, envelope: Envelope | undefined): readonly FileRecord[] => {
    const isOfOnly = only?.text !== undefined && only.json === undefined;
    if (!isOfOnly && !lines.recognizes(text) && mayHoldJson(text)) {
      const wrapped = findWrapped(text, envelope, isRecord, options.visits);
      const decoded = decodeWrapped(wrapped, bytes);
      if (decoded !== undefined) return decoded;
      const other = only && explainWrapped(only, wrapped);
      if (other !== undefined) return [reject(bytes, "unknown-format", other)];
    }
    const decoded = decodeLine(bytes, text, lines, envelope);
    if (decoded !== undefined) return [decoded];
    const isJsonOnly = only !== undefined && only.text === undefined;
    return [isJsonOnly ? reject(bytes, "not-json", NOT_JSON) : reject(bytes, "unknown-format", UNKNOWN_LINE)];
  };

  /** An object that no format recognises as it stands. */
  const decodeUnrecognized = (bytes: Buffer, value: Fields, envelope: Envelope | undefined): readonly FileRecord[] => {
    const isOther = only && LOG_FORMATS.includes(only) && LOG_FORMATS.some(({ json }) => json?.recognizes(value));
    const wrapped: Wrapped = isOther
      ? { records: [], visited: [] }
      : findWrapped(value, envelope, isRecord, options.visits);
    const inner = decodeWrapped(wrapped, bytes);
    if (inner !== undefined) return inner;
    // A field map reads what it names of any object.
    const isOfMap = only !== undefined && !LOG_FORMATS.includes(only);
    if (value.MESSAGE === null && !isOfMap) return [reject(bytes, "unknown-format", LEFT_OUT)];
    if (only !== undefined) {
      const other = explainOtherFormat(only, value) ?? explainWrapped(only, wrapped);
      if (other !== undefined) return [reject(bytes, "unknown-format", other)];
      const decoded = only.json && decodeFields(bytes, value, only, envelope);
      // A field map reads every record: what it ignores or rejects, its conditions or an own address say.
      if (decoded !== undefined && (decoded.value !== undefined || !LOG_FORMATS.includes(only))) return [decoded];
    }
    if (wrapped.line !== undefined && wrappedLines.isKnown()) return [decodeInner(wrapped.line, bytes)];
    if (only === undefined) return [reject(bytes, "unknown-format", UNKNOWN)];
    return [reject(bytes, "unknown-format", explainUnknown(only))];
  };

  return (bytes, envelope) => {
    const content = withoutPadding(bytes);
    const oversize = rejectOversize(content.length, MAX_SENSOR_RECORD_BYTES);
    if (oversize !== undefined) return [{ bytes, rejection: oversize }];
    const text = content.toString("utf8");
    if (!beginsObject(content)) return decodeText(bytes, text, envelope);
    const parsed = parseJson(text);
    if ("reason" in parsed) return [{ bytes, rejection: parsed }];
    const { value } = parsed;
    if (!isFields(value)) return [reject(bytes, "not-json", NOT_JSON)];
    const format = recognize(formats, value);
    return format === undefined
      ? decodeUnrecognized(bytes, value, envelope)
      : [decodeFields(bytes, value, format, envelope)];
  };
}

const UNKNOWN = "no format recognises the record, nor anything inside it: a field map can say which field is what";
const LEFT_OUT =
  'the record\'s "MESSAGE" is null: journalctl -o json leaves out messages of more than 4096 bytes, unless it has --all';
const UNKNOWN_LINE = "no format recognises the line: a field map with a pattern or csv can say what is what in it";

/** A record in a format, with what shippers say about it where it says nothing itself. */
function decodeAround(
  format: LogFormat,
  value: Fields,
  options: DecodeOptions,
  envelope: Envelope | undefined,
): Decoded {
  if (format.json === undefined) return { rejection: { reason: "not-json", detail: NOT_JSON } };
  const decoded = format.json.decode(value, within(options, envelope));
  if (!("observation" in decoded)) return decoded;
  const { sensor_id: sensor, observed_at: time } = decoded.observation;
  const isSensorMissing = options.sensorId === undefined && sensor === format.name && mayNameSensor(value);
  if (!isSensorMissing && time !== undefined) return decoded;
  const isOwnHost = LOG_FORMATS.includes(format) && format.name !== "zeek";
  const mixed = {
    sensor: isSensorMissing ? readMixedSensor(value, isOwnHost) : undefined,
    time: time === undefined ? timeIn(value) : undefined,
  };
  if (mixed.sensor === undefined && mixed.time === undefined) return decoded;
  return format.json.decode(value, within(options, nestEnvelopes(envelope, mixed)));
}

/** For a record without a time and a line without a year, the shipper's time is nearer than the present. */
function within(options: DecodeOptions, envelope: Envelope | undefined): DecodeOptions {
  if (envelope === undefined) return options;
  const time = Date.parse(String(readTime(envelope.time, options).time));
  return { ...options, envelope, ...(!Number.isNaN(time) && { now: () => time }) };
}

function finish(bytes: Buffer, decoded: Decoded, format: string, { onFlow }: DecodeOptions): FileRecord {
  if ("ignored" in decoded) return { bytes, ignored: decoded.ignored, format };
  if ("rejection" in decoded) return { bytes, rejection: decoded.rejection, format };
  const { observation, destination, isZoneless, isLate } = decoded;
  if (onFlow !== undefined && destination !== undefined) {
    onFlow({ sensor: String(observation.sensor_id), source: String(observation.source_ip), destination });
  }
  return { bytes, value: observation, format, ...(isZoneless && { isZoneless }), ...(isLate && { isLate }) };
}

function decodeOwn(bytes: Buffer): FileRecord {
  const read = readObservation(bytes);
  return "reason" in read ? { bytes, rejection: read } : { bytes, value: read.value };
}

function toOwn(bytes: Buffer, value: Fields, envelope: Envelope | undefined): FileRecord {
  const size = envelope === undefined ? withoutPadding(bytes).length : Buffer.byteLength(JSON.stringify(value));
  const oversize = rejectOversize(size, MAX_OBSERVATION_BYTES);
  if (oversize !== undefined) return { bytes, rejection: oversize };
  const sensor = envelope?.sensor;
  return { bytes, value: sensor === undefined ? value : { sensor_id: sensor, ...value } };
}

function reject(bytes: Buffer, reason: Rejection["reason"], detail: string): FileRecord {
  return { bytes, rejection: { reason, detail } };
}

/** The bytes of a record that came with others in one wrapper: its own part alone. */
const toBytes = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));

/** Whether reading a line as JSON, alone or after a head, is worth trying. */
const mayHoldJson = (text: string) => text.includes("{") || text.startsWith('"') || text.includes("=%7B");

/** The detail for the sender of a wrapper that holds a record of another format than the one named. */
function explainWrapped(named: LogFormat, { visited }: Wrapped): string | undefined {
  if (!LOG_FORMATS.includes(named)) return undefined;
  for (const value of visited) {
    const other = LOG_FORMATS.find(({ text, json }) =>
      typeof value === "string" ? text?.recognizes(value) : json?.recognizes(value),
    );
    if (other !== undefined) {
      return `the record inside is in the format ${other.name}, not in ${named.name}: name that format, or auto`;
    }
  }
  return undefined;
}

function explainUnknown({ name, json }: LogFormat): string {
  const expected = json === undefined ? "a line of it was looked for" : `${json.signs} expected`;
  return `the record is not in the format ${name}: ${expected}, here or inside a member like message, log or event`;
}
