import type { Readable } from "node:stream";
import { withoutByteOrderMark } from "./json/split.ts";

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** What is kept of a line that has no end in sight: enough to see what it is, too much to be a valid record. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/**
 * The lines of a stream without their line ends and without a byte order mark before the first; empty ones are left
 * out, the rest of an endless one is dropped.
 */
export async function* readLines(stream: Readable): AsyncGenerator<Buffer> {
  let isFirst = true;
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(NEWLINE, start);
      const piece = bytes.subarray(start, end < 0 ? bytes.length : end);
      if (length < MAX_LINE_BYTES) pieces.push(piece);
      length += piece.length;
      if (end < 0) break;
      const line = finish(pieces, isFirst);
      isFirst = false;
      if (line.length > 0) yield line;
      pieces = [];
      length = 0;
      start = end + 1;
    }
  }
  const line = finish(pieces, isFirst);
  if (line.length > 0) yield line;
}

function finish(pieces: readonly Buffer[], isFirst: boolean): Buffer {
  const [only] = pieces;
  const whole = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
  const line = isFirst ? withoutByteOrderMark(whole) : whole;
  return line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
}
