import { decompress } from "./codecs.ts";
import { crc32c } from "./crc32c.ts";

/** A record in the shape that kafkajs expects, without the members that we do not read. */
export type DecodedRecord = {
  readonly magicByte: number;
  readonly attributes: number;
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Record<string, Buffer | undefined>;
  readonly isControlRecord: boolean;
  /** kafkajs reads it to find the records of aborted transactions. */
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
  /**
   * Why the batch cannot be decoded: then this record stands for all of it, at its last offset, and its value is the
   * batch's bytes as the broker stores them.
   */
  readonly damage?: string;
  /** The first offset of such a batch. */
  readonly damagedFrom?: string;
};

export type RecordBatch = {
  readonly records: readonly DecodedRecord[];
  /** About how many bytes they take in memory. */
  readonly memory: number;
  /** The checksum does not match, so that nothing in the header can be trusted either. */
  readonly isCorrupt?: boolean;
};

/** The number of the record batch format since Kafka 0.11, and where a batch holds it. */
export const MAGIC = 2;
export const MAGIC_AT = 16;

/**
 * Max memory that a batch may take. Brokers accept batches of 1 MiB by default, and JSON compresses about tenfold.
 */
export const MAX_BATCH_MEMORY = 256 * 1024 * 1024;
/** What a record takes besides its bytes: millions of empty ones are a bomb too. */
const RECORD_MEMORY = 400;
/** Further headers are skipped: no producer needs as many, and they are a bomb of the same kind. */
const MAX_HEADERS = 100;

const LENGTH_BYTES = 12;
const HEADER_BYTES = 61;
/** Where the checksum is, and where the bytes that it covers begin. */
const [CRC_AT, CRC_FROM] = [17, 21];
/** Its decompressed bytes may be followed by others, see codecs.ts. */
const ZSTD = 4;
const [COMPRESSION, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL] = [0x07, 0x08, 0x10, 0x20];

/** The length of the first batch; undefined when the bytes end before it does. */
export function batchLength(bytes: Buffer): number | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const length = LENGTH_BYTES + bytes.readInt32BE(8);
  return length >= HEADER_BYTES && length <= bytes.length ? length : undefined;
}

/**
 * Decodes one whole batch. A batch that cannot be decoded is no error, but one record with its bytes and the reason.
 */
export async function readRecordBatch(batch: Buffer): Promise<RecordBatch> {
  if (crc32c(batch.subarray(CRC_FROM)) !== batch.readUInt32BE(CRC_AT)) return corrupt(batch);
  const attributes = batch.readInt16BE(21);
  const context: BatchContext = {
    base: batch.readBigInt64BE(0),
    lastDelta: Math.max(0, batch.readInt32BE(23)),
    timestamp: Number(batch.readBigInt64BE(27)),
    maxTimestamp: batch.readBigInt64BE(35).toString(),
    isAppendTime: (attributes & LOG_APPEND_TIME) !== 0,
    isControlRecord: (attributes & CONTROL) !== 0,
    batchContext: {
      producerId: batch.readBigInt64BE(43).toString(),
      inTransaction: (attributes & TRANSACTIONAL) !== 0,
    },
  };
  try {
    return await readRecords(batch, attributes & COMPRESSION, context);
  } catch (error) {
    return { records: [undecodable(batch, context, error)], memory: batch.length };
  }
}

type LastOffset = Pick<DecodedRecord, "isControlRecord" | "batchContext"> & {
  readonly base: bigint;
  /** The last offset minus the base, also when that record was compacted away since. */
  readonly lastDelta: number;
  readonly maxTimestamp: string;
};
type BatchContext = LastOffset & { readonly timestamp: number; readonly isAppendTime: boolean };

async function readRecords(batch: Buffer, compression: number, context: BatchContext): Promise<RecordBatch> {
  const compressed = batch.subarray(HEADER_BYTES);
  // When all records were compacted away only the header is left, whatever compression it names.
  const bytes = compressed.length === 0 ? compressed : await decompress(compression, compressed, MAX_BATCH_MEMORY);
  const count = batch.readInt32BE(57);
  if (count < 0) throw new Error(`the header claims ${count} records`);
  const memory = bytes.length + count * RECORD_MEMORY;
  if (memory > MAX_BATCH_MEMORY)
    throw new Error(`${count} records would take more than ${MAX_BATCH_MEMORY} bytes of memory`);
  const cursor = { bytes, at: 0, delta: -1 };
  const records: DecodedRecord[] = [];
  for (let index = 0; index < count; index++) records.push(readRecord(cursor, context));
  if (compression !== ZSTD && cursor.at < bytes.length) {
    throw new Error(`there are bytes after the ${count} records that the header claims`);
  }
  // Compaction removes the last records and keeps the batch's end. Without a record there the consumer would fetch an
  // offset of this batch for ever.
  if (cursor.delta < context.lastDelta) records.push(atLastOffset({ ...context, isControlRecord: true }));
  return { records, memory };
}

/** An empty record at the last offset of a batch. */
function atLastOffset({ base, lastDelta, maxTimestamp, isControlRecord, batchContext }: LastOffset): DecodedRecord {
  return {
    magicByte: MAGIC,
    attributes: 0,
    offset: (base + BigInt(lastDelta)).toString(),
    timestamp: maxTimestamp,
    key: null,
    value: null,
    headers: {},
    isControlRecord,
    batchContext,
  };
}

function undecodable(batch: Buffer, context: LastOffset, error: unknown): DecodedRecord {
  const record = atLastOffset(context);
  const reason = error instanceof Error ? error.message : String(error);
  return {
    ...record,
    // A copy, so that the rest of the fetch response can leave memory.
    value: Buffer.from(batch),
    damagedFrom: context.base.toString(),
    damage: `the batch of offsets ${context.base} to ${record.offset} cannot be decoded: ${reason}`,
  };
}

function corrupt(batch: Buffer): RecordBatch {
  const context: LastOffset = {
    base: batch.readBigInt64BE(0),
    // The header holds it twice; take the smaller one: an offset beyond the log's end would restart the consumer at its
    // beginning, for ever, and one that is too small only fetches this batch again.
    lastDelta: Math.max(0, Math.min(batch.readInt32BE(23), batch.readInt32BE(57) - 1)),
    maxTimestamp: "0",
    // Not what the header claims: as a control record, or as part of an aborted transaction, it would be dropped
    // silently.
    isControlRecord: false,
    batchContext: { producerId: "-1", inTransaction: false },
  };
  const error = new Error("checksum mismatch: its bytes are not those that were published");
  return { records: [undecodable(batch, context, error)], memory: batch.length, isCorrupt: true };
}

type Cursor = {
  readonly bytes: Buffer;
  at: number;
  /** The last decoded record's offset minus the batch's base. */
  delta: number;
};

function readRecord(cursor: Cursor, context: BatchContext): DecodedRecord {
  const length = readVarint(cursor);
  const end = cursor.at + length;
  if (length < 0 || end > cursor.bytes.length) throw new Error("a record ends after its batch");
  const attributes = cursor.bytes.readInt8(cursor.at++);
  const timestamp = context.timestamp + readVarint(cursor);
  const delta = readVarint(cursor);
  // Brokers do not check them in uncompressed batches. Too small ones would count as already consumed or as the same
  // record, and too large ones as the end of the log or beyond.
  if (delta <= cursor.delta || delta > context.lastDelta) throw new Error("a record's offset is outside its batch");
  cursor.delta = delta;
  const record: DecodedRecord = {
    magicByte: MAGIC,
    attributes,
    timestamp: context.isAppendTime ? context.maxTimestamp : String(timestamp),
    offset: (context.base + BigInt(delta)).toString(),
    key: readBytes(cursor),
    value: readBytes(cursor),
    headers: readHeaders(cursor),
    isControlRecord: context.isControlRecord,
    batchContext: context.batchContext,
  };
  if (cursor.at > end) throw new Error("a record's parts end after it");
  // Headers may have been skipped.
  cursor.at = end;
  return record;
}

const NO_HEADERS = Object.freeze({});

/** The last of several headers with one name counts. */
function readHeaders(cursor: Cursor): Record<string, Buffer | undefined> {
  const count = Math.min(readVarint(cursor), MAX_HEADERS);
  if (count === 0) return NO_HEADERS;
  const headers: [string, Buffer | undefined][] = [];
  for (let index = 0; index < count; index++) {
    const name = readBytes(cursor)?.toString() ?? "";
    headers.push([name, readBytes(cursor) ?? undefined]);
  }
  return Object.fromEntries(headers);
}

function readBytes(cursor: Cursor): Buffer | null {
  const length = readVarint(cursor);
  if (length < 0) return null;
  if (cursor.at + length > cursor.bytes.length) throw new Error("a part of a record ends after its batch");
  const bytes = cursor.bytes.subarray(cursor.at, cursor.at + length);
  cursor.at += length;
  return bytes;
}

/** A zigzag varint. Computed in doubles, for timestamps have more than 32 bits. */
function readVarint(cursor: Cursor): number {
  let value = 0;
  for (let weight = 1; weight < 2 ** 70; weight *= 128) {
    const byte = cursor.bytes.readUInt8(cursor.at++);
    value += (byte & 0x7f) * weight;
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  throw new Error("a varint is too long");
}
