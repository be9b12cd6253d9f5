import { readdirSync, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { LOG_FORMATS } from "@noisefloor/ingest/formats/all.ts";
import { fieldMapFormat } from "@noisefloor/ingest/formats/field-maps/format.ts";
import { readFieldMap } from "@noisefloor/ingest/formats/field-maps/read.ts";
import type { DecodeOptions, FileRecord, LogFormat } from "@noisefloor/ingest/formats/format.ts";
import { readRecordsOf } from "@noisefloor/ingest/formats/read-file.ts";
import { PLAIN } from "./decode.ts";

/** The format of a field map in YAML. @throws Error for a map with errors. */
export function formatOf(yaml: string): LogFormat {
  const read = readFieldMap(yaml);
  if ("problems" in read) throw new Error(read.problems.join("; "));
  return fieldMapFormat(read.map);
}

/** What is wrong with a field map. */
export function problemsOf(yaml: string): readonly string[] {
  const read = readFieldMap(yaml);
  return "problems" in read ? read.problems : [];
}

/** The field maps that come along. */
export function mapsAlong(): LogFormat[] {
  const folder = fileURLToPath(new URL("../../../infra/field-maps/", import.meta.url));
  return readdirSync(folder).map((name) => formatOf(readFileSync(`${folder}${name}`, "utf8")));
}

/** The records of a file as `auto` reads it, among all formats and these. */
export const readAuto = (content: string, maps: readonly LogFormat[], options: Partial<DecodeOptions> = {}) =>
  readAs(content, [...maps, ...LOG_FORMATS], options);

/** The records of a file in some formats. */
export async function readAs(
  content: string,
  formats: readonly LogFormat[],
  options: Partial<DecodeOptions> = {},
): Promise<FileRecord[]> {
  const records: FileRecord[] = [];
  for await (const record of readRecordsOf(Readable.from([Buffer.from(content)]), formats, { ...PLAIN, ...options })) {
    records.push(record);
  }
  return records;
}
