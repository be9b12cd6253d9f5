import type { Readable } from "node:stream";
import { openDecoder } from "./decoder.ts";
import type { DecodeOptions, FileRecord, LogFormat } from "./format.ts";
import { createCutState, cutting } from "./json/cut.ts";
import { withoutByteOrderMark } from "./json/split.ts";

/** The records of an unpacked file in some formats, in the ways in which a request may hold them. */
export async function* readRecordsOf(
  stream: Readable,
  formats: readonly LogFormat[],
  options: DecodeOptions,
): AsyncGenerator<FileRecord> {
  const decode = openDecoder(formats, options);
  for await (const bytes of cutStream(stream)) for (const record of decode(bytes)) yield record;
}

/** The records of a stream as the bytes that they came in. It keeps one record in memory, 4 MiB of it at most. */
export async function* cutStream(stream: Readable): AsyncGenerator<Buffer> {
  const state = createCutState();
  let isFirst = true;
  let rest: Buffer = Buffer.alloc(0);
  const cut = (bytes: Buffer, isEnd: boolean): readonly Buffer[] => {
    const records: Buffer[] = [];
    const cuts = cutting(bytes, state, isEnd, (record) => records.push(record) > 0);
    let piece = cuts.next();
    while (!piece.done) piece = cuts.next();
    rest = bytes.subarray(piece.value);
    state.brokenAt = Math.max(0, state.brokenAt - piece.value);
    return records;
  };
  for await (const chunk of stream) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    const whole = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    // The mark may come in pieces.
    if (isFirst && whole.length < 3) {
      rest = whole;
      continue;
    }
    for (const record of cut(isFirst ? withoutByteOrderMark(whole) : whole, false)) yield record;
    isFirst = false;
  }
  for (const record of cut(isFirst ? withoutByteOrderMark(rest) : rest, true)) yield record;
}
