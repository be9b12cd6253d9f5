import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { findJsonExcess } from "@noisefloor/domain/text/json-bounds.ts";

/** The rejection of a record that has too many bytes. */
export function rejectOversize(bytes: number, maxBytes: number): Rejection | undefined {
  if (bytes <= maxBytes) return undefined;
  return { reason: "oversize", detail: `the record has ${bytes} bytes, at most ${maxBytes} are accepted` };
}

/** Parses the JSON of one record, unless its values would be too many or nested too deep. */
export function parseJson(text: string): { value: unknown } | Rejection {
  const excess = findJsonExcess(text);
  if (excess !== undefined) return { reason: "oversize", detail: `the record ${excess}` };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { reason: "not-json", detail: "the record is not JSON" };
  }
}
