import { Readable } from "node:stream";
import { AUTO, findFormats } from "@noisefloor/ingest/formats/all.ts";
import type { DecodeOptions, FileRecord } from "@noisefloor/ingest/formats/format.ts";
import { readRecordsOf } from "@noisefloor/ingest/formats/read-file.ts";

/** No addresses of the sensors' own, no ports rewritten. */
export const PLAIN: DecodeOptions = {
  now: () => Date.parse("2026-11-20T14:00:00Z"),
  isOwnAddress: () => false,
  publicPort: (port) => port,
  countsAccepted: false,
};

/** The records of a file with this content. */
export async function readContent(
  content: string | Buffer | readonly Buffer[],
  name: string = AUTO,
  options: Partial<DecodeOptions> = {},
): Promise<FileRecord[]> {
  const chunks = typeof content === "string" || Buffer.isBuffer(content) ? [Buffer.from(content)] : [...content];
  const records: FileRecord[] = [];
  for await (const record of readRecordsOf(Readable.from(chunks), findFormats(name) ?? [], { ...PLAIN, ...options })) {
    records.push(record);
  }
  return records;
}
