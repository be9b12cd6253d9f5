import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { MAX_OBSERVATION_BYTES } from "@noisefloor/domain/observation/schema.ts";
import { type Fields, isFields } from "../fields.ts";
import { observationsFormat } from "../observations.ts";
import { findWrapped } from "./find-records.ts";

const isObservation = (value: Fields | string) =>
  typeof value !== "string" && observationsFormat.json?.recognizes(value) === true;

/** Unwraps a line that is not JSON by itself. */
export function unwrapText(bytes: Buffer, { reason }: Rejection): Fields | undefined {
  return reason === "not-json" && bytes.length <= MAX_OBSERVATION_BYTES
    ? unwrapObservation(bytes.toString("utf8"))
    : undefined;
}

/** The observation of the wire schema inside another value; undefined unless it holds exactly one. */
export function unwrapObservation(value: unknown): Fields | undefined {
  if (typeof value !== "string" && (!isFields(value) || isObservation(value))) return undefined;
  const [found, ...others] = findWrapped(value, undefined, isObservation).records;
  if (found === undefined || others.length > 0 || !isFields(found.value)) return undefined;
  const { sensor } = found.envelope;
  return sensor === undefined ? found.value : { sensor_id: sensor, ...found.value };
}
