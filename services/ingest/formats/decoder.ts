import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { isFields } from "./fields.ts";
import type { Decoded, DecodeOptions, FileRecord, LogFormat } from "./format.ts";
import { parseJson, rejectOversize } from "./json/parse.ts";
import { parseRecord } from "./json/split.ts";
import { observationsFormat } from "./observations.ts";
import { explainOtherFormat } from "./recognize.ts";

/** Sensors log whole payloads: their records may be larger than an observation. */
export const MAX_SENSOR_RECORD_BYTES = 1024 * 1024;

/** Decodes the records of one stream in order. */
export type Decoder = (bytes: Buffer) => FileRecord;

const OPEN_BRACE = 0x7b;

/**
 * Begins a stream of records in some formats: each record is decoded by the first that recognises it, or by the only
 * one there is. A stream may mix formats; a header holds until another one comes.
 */
export function openDecoder(formats: readonly LogFormat[], options: DecodeOptions): Decoder {
  const [only] = formats.length === 1 ? formats : [];
  const decodeText = openText(formats);
  return (bytes) => {
    if (only === observationsFormat) return decodeOwn(bytes);
    const oversize = rejectOversize(bytes, MAX_SENSOR_RECORD_BYTES);
    if (oversize !== undefined) return { bytes, rejection: oversize };
    const text = bytes.toString("utf8");
    const parsed = bytes[0] === OPEN_BRACE ? parseJson(text) : undefined;
    if (parsed === undefined || (only !== undefined && only.json === undefined)) {
      const value = parsed !== undefined && "value" in parsed ? parsed.value : undefined;
      const other = only && explainOtherFormat(only, value);
      if (other !== undefined) return reject(bytes, "unknown-format", other);
      const decoded = decodeText(text, options);
      if (decoded === "unknown") return reject(bytes, ...unknownText(only));
      reportFlow(decoded, options);
      return toRecord(bytes, decoded, decoded.format);
    }
    if ("reason" in parsed) return { bytes, rejection: parsed };
    const { value } = parsed;
    if (!isFields(value)) return reject(bytes, "not-json", "the record is not JSON");
    const other = only && explainOtherFormat(only, value);
    if (other !== undefined) return reject(bytes, "unknown-format", other);
    const format = only ?? formats.find((candidate) => candidate.json?.recognizes(value));
    if (format?.json === undefined) return reject(bytes, "unknown-format", "no format recognises the record");
    if (format === observationsFormat) return decodeOwn(bytes);
    const decoded = format.json.decode(value, options);
    if (only !== undefined && !("observation" in decoded) && !format.json.recognizes(value)) {
      return reject(
        bytes,
        "unknown-format",
        `the record is not in the format ${only.name}: ${format.json.signs} expected`,
      );
    }
    reportFlow(decoded, options);
    return toRecord(bytes, decoded, format.name);
  };
}

function reportFlow(decoded: Decoded, { onFlow }: DecodeOptions): void {
  if (onFlow === undefined || !("observation" in decoded) || decoded.destination === undefined) return;
  const { sensor_id: sensor, source_ip: source } = decoded.observation;
  onFlow({ sensor: String(sensor), source: String(source), destination: decoded.destination });
}

/** Our own records keep their own limits: one that cannot be parsed is rejected where all of them are. */
function decodeOwn(bytes: Buffer): FileRecord {
  const parsed = parseRecord(bytes);
  return "value" in parsed ? { bytes, value: parsed.value } : { bytes };
}

function toRecord(bytes: Buffer, decoded: Decoded, format: string): FileRecord {
  if ("ignored" in decoded) return { bytes, ignored: decoded.ignored, format };
  if ("rejection" in decoded) return { bytes, rejection: decoded.rejection, format };
  return { bytes, value: decoded.observation, format };
}

function reject(bytes: Buffer, reason: Rejection["reason"], detail: string): FileRecord {
  return { bytes, rejection: { reason, detail } };
}

function unknownText(only: LogFormat | undefined): [Rejection["reason"], string] {
  return only?.text === undefined && only !== undefined
    ? ["not-json", "the record is not JSON"]
    : ["unknown-format", "no format recognises the line"];
}

/** Lines of text belong to the format that last recognised one, unless another one recognises them. */
function openText(formats: readonly LogFormat[]) {
  const texts = formats.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, ...text }]));
  let current = texts.length === 1 && formats.length === 1 ? texts[0] : undefined;
  let decode = current?.open();
  return (line: string, options: DecodeOptions): (Decoded & { readonly format: string }) | "unknown" => {
    const recognized = formats.length === 1 ? undefined : texts.find((text) => text.recognizes(line));
    if (recognized !== undefined && recognized !== current) {
      current = recognized;
      decode = recognized.open();
    }
    if (current === undefined || decode === undefined) return "unknown";
    return { ...decode(line, options), format: current.name };
  };
}
