import { createRequire } from "node:module";
import { batchLength, type DecodedRecord, MAGIC, MAGIC_AT, MOST_BATCH_COST, readRecordBatch } from "./record-batch.ts";

/** What we touch of the library's own reader of a broker's answer: all of the answer, and where the reader is. */
export type Answer = { readonly buffer: Buffer; offset: number };
type DecodeMessages = (answer: Answer) => Promise<DecodedRecord[]>;

/** How much memory the messages of one answer may take. A batch that is begun with less than this is read to its end. */
const ENOUGH = MOST_BATCH_COST / 2;
const spentOn = new WeakMap<Answer, number>();

/**
 * Replaces the library's reading of the batches that a broker sends. Its own takes half a minute for the headers of a
 * single message, fails for good with a batch of over a hundred thousand messages or with one that it cannot unpack,
 * and unpacks without a limit. It has no option for another one, hence this way in; it loads its reader with the first
 * answer, so this has to come before.
 */
export function replaceFetchDecoder(): void {
  const require = createRequire(import.meta.url);
  const path = require.resolve("kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js");
  const decodeOldFormat: DecodeMessages = require(path);
  const loaded = require.cache[path];
  if (loaded === undefined) throw new Error("the client library's reader of batches is not where it was");
  loaded.exports = (answer: Answer) => (isOldFormat(answer) ? decodeOldFormat(answer) : decodeMessages(answer));
}

function isOldFormat({ buffer, offset }: Answer): boolean {
  const bytes = buffer.readInt32BE(offset);
  return bytes > MAGIC_AT && buffer[offset + 4 + MAGIC_AT] !== MAGIC;
}

/** The messages of one partition, as far as they are all there and there is memory: the rest comes when asked again. */
export async function decodeMessages(answer: Answer): Promise<DecodedRecord[]> {
  // Less than none where there is nothing.
  const bytes = Math.max(0, answer.buffer.readInt32BE(answer.offset));
  const start = answer.offset + 4;
  answer.offset = start + bytes;
  const records: DecodedRecord[] = [];
  for (let at = start; (spentOn.get(answer) ?? 0) < ENOUGH; ) {
    const rest = answer.buffer.subarray(at, start + bytes);
    const length = batchLength(rest);
    if (length === undefined) break;
    const batch = await readRecordBatch(rest.subarray(0, length));
    spentOn.set(answer, (spentOn.get(answer) ?? 0) + batch.cost);
    // Not `push(...)`, which puts them all onto the stack.
    for (const record of batch.records) records.push(record);
    // It may have been the mark at the end of a transaction: the next answer says anew which ones were taken back.
    if (batch.isCorrupt) break;
    at += length;
  }
  return records;
}
