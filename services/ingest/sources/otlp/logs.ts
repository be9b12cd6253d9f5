import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import type { Reservation } from "@noisefloor/http/requests/memory-budget.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { formatFinder } from "../../formats/all.ts";
import { MAX_SENSOR_RECORD_BYTES } from "../../formats/decoder.ts";
import { type Fields, isFields, listAt, textAt } from "../../formats/fields.ts";
import type { LogFormat } from "../../formats/format.ts";
import { parseJson } from "../../formats/json/parse.ts";
import { assertFewRecords, openJsonReader, readEvent, readShortText } from "../http/json-reader.ts";
import { type Part, reserve } from "../http/records.ts";

/** Where a resource names the sensor. The instance comes last: some senders make another one at each start. */
const SENSOR_NAMES = ["host.name", "k8s.pod.name", "service.instance.id"];

/**
 * Reads the body of an OTLP request in JSON: log records within scopes within resources. A body that is a text is a
 * line or JSON, and one of key-value pairs an object; a log record without one goes on as it came.
 * @throws HttpError 400, 413, or 503 when memory is short.
 */
export function readLogs(
  body: unknown,
  formats: readonly LogFormat[],
  reservation: Reservation | undefined,
): Promise<readonly Part[]> {
  if (!Buffer.isBuffer(body) || body.length === 0) throw new HttpError(400, "The request body is empty");
  return runInSteps(readingLogs(body, formatFinder(formats), reservation));
}

function* readingLogs(
  body: Buffer,
  formatsOf: ReturnType<typeof formatFinder>,
  reservation: Reservation | undefined,
): Generator<void, readonly Part[]> {
  const parts: Part[] = [];
  const { members, elements } = openJsonReader();
  const request = yield* members(body, ["resourceLogs"]);
  if (request === undefined) throw new HttpError(400, "The request body is no JSON object");
  for (const resourceLogs of yield* elements(request.get("resourceLogs"))) {
    const ofResource = yield* members(resourceLogs, ["resource", "scopeLogs"]);
    const attributes = readResource(ofResource?.get("resource"));
    const sensor = textAt(attributes, ...SENSOR_NAMES);
    const named = formatsOf(textAt(attributes, "service.name"));
    for (const scopeLogs of yield* elements(ofResource?.get("scopeLogs"))) {
      const ofScope = yield* members(scopeLogs, ["logRecords"]);
      for (const logRecord of yield* elements(ofScope?.get("logRecords"))) {
        const log = yield* members(logRecord, ["body", "timeUnixNano", "observedTimeUnixNano"]);
        const value = log?.get("body");
        const text = (yield* members(value, ["stringValue"]))?.get("stringValue");
        const times = ["timeUnixNano", "observedTimeUnixNano"].map((name) => readShortText(log?.get(name)));
        const envelope = { sensor, time: times.find((time) => time !== undefined && time !== UNKNOWN_TIME) };
        const records =
          text === undefined ? [readValue(value ?? logRecord, reservation)] : readEvent(text, reservation);
        for (const record of records) {
          const part = Buffer.isBuffer(record) ? { bytes: record } : record;
          parts.push({ ...part, envelope, formats: named });
        }
        assertFewRecords(parts);
      }
    }
  }
  return parts;
}

const UNKNOWN_TIME = "0";

/** The attributes of a resource; none of one that is too large. */
function readResource(json: Buffer | undefined): Fields {
  const resource = parseSmall(json);
  return isFields(resource) ? toObject(resource.attributes) : {};
}

/** The record of a body that is no text: the JSON of what it stands for, or its very bytes if it is too large. */
function readValue(json: Buffer, reservation: Reservation | undefined): Part {
  if (json.length > MAX_SENSOR_RECORD_BYTES) return { bytes: json };
  reserve(reservation, json.length);
  const parsed = parseJson(json.toString("utf8"));
  if ("reason" in parsed) return { bytes: json, rejection: parsed };
  const value = toValue(parsed.value);
  if (value === undefined) return { bytes: json };
  const isBytes = isFields(parsed.value) && typeof parsed.value.bytesValue === "string";
  return { bytes: isBytes ? Buffer.from(String(value), "base64") : Buffer.from(JSON.stringify(value)) };
}

function parseSmall(json: Buffer | undefined): unknown {
  if (json === undefined || json.length > MAX_SENSOR_RECORD_BYTES) return undefined;
  const parsed = parseJson(json.toString("utf8"));
  return "value" in parsed ? parsed.value : undefined;
}

/** What an `AnyValue` stands for; undefined for what is none, or has no value. */
function toValue(any: unknown): unknown {
  if (!isFields(any)) return undefined;
  const { kvlistValue, arrayValue, intValue } = any;
  if (isFields(kvlistValue)) return toObject(kvlistValue.values);
  if (isFields(arrayValue)) return listAt(arrayValue, "values").map((value) => toValue(value) ?? null);
  // Written as a text, because JSON's numbers have no 64 bits.
  if (intValue !== undefined) return Number.isSafeInteger(Number(intValue)) ? Number(intValue) : intValue;
  return any.stringValue ?? any.boolValue ?? any.doubleValue ?? any.bytesValue;
}

function toObject(pairs: unknown): Fields {
  if (!Array.isArray(pairs)) return {};
  return Object.fromEntries(pairs.filter(isFields).map(({ key, value }) => [String(key), toValue(value)]));
}
