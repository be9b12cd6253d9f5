import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { MAX_OBSERVATION_BYTES } from "@noisefloor/domain/observation/schema.ts";
import { type Fields, isFields } from "./fields.ts";
import type { LogFormat } from "./format.ts";
import { parseRecord } from "./json/split.ts";
import { findWrapped } from "./wrapped/find-records.ts";

/** Our own wire schema. Its values are passed on as they are, so that validation sees every member. */
export const observationsFormat: LogFormat = {
  name: "observations",
  description: "Noisefloor's own wire schema, NDJSON",
  json: {
    signs: "observed_at and source_ip",
    recognizes: (record) => "observed_at" in record && "source_ip" in record,
    decode: (record) => ({ observation: record }),
  },
};

/** What one of our own records holds: `value` is not validated yet. */
export type ReadObservation = { readonly value: unknown; readonly isWrapped: boolean };

/** Reads one of our own records: its JSON, or the one observation inside of a shipper's wrapper. */
export function readObservation(bytes: Buffer): ReadObservation | Rejection {
  const parsed = parseRecord(bytes);
  if (!("reason" in parsed)) {
    const inner = unwrap(parsed.value);
    return { value: inner ?? parsed.value, isWrapped: inner !== undefined };
  }
  const mayBeText = parsed.reason === "not-json" && bytes.length <= MAX_OBSERVATION_BYTES;
  const inner = mayBeText ? unwrap(bytes.toString("utf8")) : undefined;
  return inner === undefined ? parsed : { value: inner, isWrapped: true };
}

const isObservation = (value: Fields | string) =>
  typeof value !== "string" && observationsFormat.json?.recognizes(value) === true;

/** The observation of the wire schema inside another value, such as a shipper's; undefined unless exactly one is there. */
function unwrap(value: unknown): Fields | undefined {
  if (typeof value !== "string" && (!isFields(value) || isObservation(value))) return undefined;
  const [found, ...others] = findWrapped(value, undefined, isObservation).records;
  if (found === undefined || others.length > 0 || !isFields(found.value)) return undefined;
  const { sensor } = found.envelope;
  return sensor === undefined ? found.value : { sensor_id: sensor, ...found.value };
}
