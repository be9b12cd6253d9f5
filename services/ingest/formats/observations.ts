import type { FileRecord, LogFormat } from "./format.ts";
import { parseRecord, splitPayload } from "./json/split.ts";
import { readLines } from "./lines.ts";

/** Our own wire schema: a line is one observation, or an array of them. */
export const observationsFormat: LogFormat = {
  name: "observations",
  description: "NDJSON in Noisefloor's own wire schema",
  async *read(stream) {
    for await (const line of readLines(stream)) {
      const parts = splitPayload(line, Number.POSITIVE_INFINITY);
      for (const bytes of Array.isArray(parts) ? parts : [line]) yield toRecord(bytes);
    }
  },
};

function toRecord(bytes: Buffer): FileRecord {
  const parsed = parseRecord(bytes);
  return "value" in parsed ? { bytes, value: parsed.value } : { bytes };
}
