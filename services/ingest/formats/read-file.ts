import type { Readable } from "node:stream";
import { openDecoder } from "./decoder.ts";
import type { DecodeOptions, FileRecord, LogFormat } from "./format.ts";
import { splitInTurns } from "./json/split.ts";
import { readLines } from "./lines.ts";

const OPEN_BRACKET = 0x5b;

/** The records of an unpacked file in some formats: a line is one record, or a JSON array of them. */
export async function* readRecordsOf(
  stream: Readable,
  formats: readonly LogFormat[],
  options: DecodeOptions,
): AsyncGenerator<FileRecord> {
  const decode = openDecoder(formats, options);
  for await (const line of readLines(stream)) {
    const parts = line[0] === OPEN_BRACKET ? await splitInTurns(line, Number.POSITIVE_INFINITY) : [line];
    for (const bytes of Array.isArray(parts) ? parts : [line]) {
      yield decode(bytes);
    }
  }
}
