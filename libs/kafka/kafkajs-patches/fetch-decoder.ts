import { createRequire } from "node:module";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import {
  batchLength,
  type DecodedRecord,
  MAGIC,
  MAGIC_AT,
  MAX_BATCH_MEMORY,
  readRecordBatch,
} from "../record-batch/record-batch.ts";

/** What we use of the library's decoder: the bytes of the whole fetch response, and how far it has been decoded. */
export type FetchResponse = { readonly buffer: Buffer; offset: number };
type DecodeMessages = (response: FetchResponse) => Promise<DecodedRecord[]>;

/** The decoder begins no further batch once the messages of one response take this much memory. */
const RESPONSE_MEMORY = MAX_BATCH_MEMORY / 2;
/** Bytes that are decoded before others get their turn: a fetch brings up to 64 MiB. */
const MEMORY_PER_TURN = 2 * 1024 * 1024;
/** What the messages of a response take so far, and those since the last turn of others. */
const memoryOf = new WeakMap<FetchResponse, { total: number; sinceTurn: number }>();

/**
 * Fault: kafkajs copies all headers of a message once per header, pushes all messages of a batch onto the stack,
 * decompresses without a limit, throws for good on a batch that it cannot decompress, and reads neither the checksum
 * nor past a batch whose records were all compacted away.
 * Seen: 7,000 headers took half a minute; a batch of 150,000 messages, a damaged one, a bomb and an emptied one each
 * stopped every partition of a broker. test/integration/{hostile-messages,odd-batches}.test.ts play them.
 */
export function patchFetchDecoder(): void {
  const require = createRequire(import.meta.url);
  const path = require.resolve("kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js");
  const decodeOldFormat: DecodeMessages = require(path);
  const loaded = require.cache[path];
  if (loaded === undefined) throw new Error("kafkajs' fetch decoder is not where the patch expects it");
  loaded.exports = (response: FetchResponse) =>
    isOldFormat(response) ? decodeOldFormat(response) : decodeMessages(response);
}

function isOldFormat({ buffer, offset }: FetchResponse): boolean {
  const bytes = buffer.readInt32BE(offset);
  return bytes > MAGIC_AT && buffer[offset + 4 + MAGIC_AT] !== MAGIC;
}

/** The messages of one partition, as far as they are complete and memory suffices: the next fetch brings the rest. */
export async function decodeMessages(response: FetchResponse): Promise<DecodedRecord[]> {
  // Negative for an empty partition.
  const bytes = Math.max(0, response.buffer.readInt32BE(response.offset));
  const start = response.offset + 4;
  response.offset = start + bytes;
  const records: DecodedRecord[] = [];
  // A large response is work enough for the turn that brings its end: its decoding begins in another.
  const memory = memoryOf.get(response) ?? { total: 0, sinceTurn: response.buffer.length };
  memoryOf.set(response, memory);
  for (let at = start; memory.total < RESPONSE_MEMORY; ) {
    const rest = response.buffer.subarray(at, start + bytes);
    const length = batchLength(rest);
    if (length === undefined) break;
    if (memory.sinceTurn >= MEMORY_PER_TURN) {
      await yieldToEventLoop();
      memory.sinceTurn = 0;
    }
    const batch = await readRecordBatch(rest.subarray(0, length));
    memory.total += batch.memory;
    memory.sinceTurn += batch.memory;
    // Not `push(...)`, which would put them all onto the stack.
    for (const record of batch.records) records.push(record);
    // A corrupt batch may have been the end of a transaction: only the next response lists the aborted ones again.
    if (batch.isCorrupt) break;
    at += length;
  }
  return records;
}
