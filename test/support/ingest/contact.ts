import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { provesContact } from "@noisefloor/domain/tags/contact.ts";
import type { DecodeOptions, FileRecord } from "@noisefloor/ingest/formats/format.ts";
import { PLAIN, readContent } from "./decode.ts";

/** Whether a record that became an observation proves contact, as the intake decides it. @throws Error if none did. */
export function recordContact({ value, ignored, rejection }: FileRecord): boolean {
  const valid = validateObservation(value, { now: PLAIN.now(), retentionDays: 90, right: "everything" });
  if ("reason" in valid) throw new Error(ignored ?? rejection?.detail ?? valid.detail);
  return provesContact(valid.observation);
}

/** Whether the observation of one record, an object or a line, proves contact. */
export async function contactOf(
  record: object | string,
  format?: string,
  options: Partial<DecodeOptions> = {},
): Promise<boolean> {
  const content = typeof record === "string" ? record : JSON.stringify(record);
  const last = (await readContent(content, format, options)).at(-1);
  if (last === undefined) throw new Error("the content holds no record");
  return recordContact(last);
}
