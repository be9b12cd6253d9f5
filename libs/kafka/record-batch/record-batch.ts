import { decompress } from "./codecs.ts";
import { crc32c } from "./crc32c.ts";

/** A record as the client library wants it, without what only its other users read. */
export type DecodedRecord = {
  readonly magicByte: number;
  readonly attributes: number;
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Record<string, Buffer | undefined>;
  readonly isControlRecord: boolean;
  /** The library looks here for those of an aborted transaction. */
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
  /**
   * Why the batch could not be read: then this record stands for all of it, at its last offset, and its value is the
   * batch as it lies on the broker.
   */
  readonly damage?: string;
};

export type RecordBatch = {
  readonly records: readonly DecodedRecord[];
  /** About how much memory they take. */
  readonly cost: number;
  /** Its bytes are not those that were published: then its header says nothing for sure either. */
  readonly isCorrupt?: boolean;
};

/** The record batches' format since Kafka 0.11, and where its number is in one. */
export const MAGIC = 2;
export const MAGIC_AT = 16;

/** The most memory that a batch may take. By default brokers take batches of 1 MiB, and JSON packs to a tenth or so. */
export const MOST_BATCH_COST = 256 * 1024 * 1024;
/** What a record, or a header, takes besides its bytes: millions of empty ones are a bomb too. */
const RECORD_COST = 400;
/** Headers beyond these are not read. Nobody means as many, and they are a bomb of the same kind. */
const MOST_HEADERS = 100;

const LENGTH_BYTES = 12;
const HEADER_BYTES = 61;
/** The checksum, and from where on it is about every byte. */
const [CRC_AT, CRC_FROM] = [17, 21];
/** What is unpacked of it may have anything behind it. */
const ZSTD = 4;
const [COMPRESSION, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL] = [0x07, 0x08, 0x10, 0x20];

/** How many bytes the batch at the beginning takes; undefined when it is not all there. */
export function batchLength(bytes: Buffer): number | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const length = LENGTH_BYTES + bytes.readInt32BE(8);
  return length >= HEADER_BYTES && length <= bytes.length ? length : undefined;
}

/** Reads one whole batch. What cannot be read is not an error: whoever reads on has to hear of it, and to go on. */
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
    return { records: [standIn(batch, context, error)], cost: batch.length };
  }
}

type LastOffset = Pick<DecodedRecord, "isControlRecord" | "batchContext"> & {
  readonly base: bigint;
  /** How far the last offset is from the base: also that of a record which has been cleaned away since. */
  readonly lastDelta: number;
  readonly maxTimestamp: string;
};
type BatchContext = LastOffset & { readonly timestamp: number; readonly isAppendTime: boolean };

async function readRecords(batch: Buffer, compression: number, context: BatchContext): Promise<RecordBatch> {
  const packed = batch.subarray(HEADER_BYTES);
  // Of a batch whose records have all been cleaned away there is only the header, whatever it says of compression.
  const bytes = packed.length === 0 ? packed : await decompress(compression, packed, MOST_BATCH_COST);
  const count = batch.readInt32BE(57);
  if (count < 0) throw new Error(`it says that it has ${count} records`);
  const cost = bytes.length + count * RECORD_COST;
  if (cost > MOST_BATCH_COST) throw new Error(`its ${count} records take more than ${MOST_BATCH_COST} bytes of memory`);
  const cursor = { bytes, at: 0, delta: -1 };
  const records: DecodedRecord[] = [];
  for (let index = 0; index < count; index++) records.push(readRecord(cursor, context));
  if (compression !== ZSTD && cursor.at < bytes.length) {
    throw new Error(`there is more in it than the ${count} records that it says it has`);
  }
  // Log cleaners take the last records away and leave the batch's end. Whoever has read up to here has to be told so:
  // else the next offset to ask for would be one of this batch for ever.
  if (cursor.delta < context.lastDelta) records.push(atLastOffset({ ...context, isControlRecord: true }));
  return { records, cost };
}

/** At the last offset of a batch, and empty. */
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

function standIn(batch: Buffer, context: LastOffset, error: unknown): DecodedRecord {
  const record = atLastOffset(context);
  const reason = error instanceof Error ? error.message : String(error);
  return {
    ...record,
    // A copy: the rest of the broker's answer need not stay in memory for it.
    value: Buffer.from(batch),
    damage: `the batch of the offsets ${context.base} to ${record.offset} cannot be read: ${reason}`,
  };
}

function corrupt(batch: Buffer): RecordBatch {
  const context: LastOffset = {
    base: batch.readBigInt64BE(0),
    // Of two numbers that say the same the smaller one: an offset beyond the log's end would have all of it read again,
    // for ever, and one that is too small only has this batch sent again.
    lastDelta: Math.max(0, Math.min(batch.readInt32BE(23), batch.readInt32BE(57) - 1)),
    maxTimestamp: "0",
    // What it says of itself counts for nothing: as a transaction's mark, or as part of one that was taken back, it would
    // be dropped in silence.
    isControlRecord: false,
    batchContext: { producerId: "-1", inTransaction: false },
  };
  const error = new Error("its bytes do not come to its checksum: they are not those that were published");
  return { records: [standIn(batch, context, error)], cost: batch.length, isCorrupt: true };
}

type Cursor = {
  readonly bytes: Buffer;
  at: number;
  /** How far the record read last is from the batch's base. */
  delta: number;
};

function readRecord(cursor: Cursor, context: BatchContext): DecodedRecord {
  const length = readVarint(cursor);
  const end = cursor.at + length;
  if (length < 0 || end > cursor.bytes.length) throw new Error("a record reaches beyond its batch");
  const attributes = cursor.bytes.readInt8(cursor.at++);
  const timestamp = context.timestamp + readVarint(cursor);
  const delta = readVarint(cursor);
  // Brokers do not look at these where nothing is packed. Smaller ones were taken for read already or for the same
  // record, and larger ones for the end of the log or beyond.
  if (delta <= cursor.delta || delta > context.lastDelta) throw new Error("a record's offset is not one of its batch");
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
  if (cursor.at > end) throw new Error("the parts of a record reach beyond it");
  // There may be headers that are not read.
  cursor.at = end;
  return record;
}

/** Of several headers with one name the last one counts. */
function readHeaders(cursor: Cursor): Record<string, Buffer | undefined> {
  const count = Math.min(readVarint(cursor), MOST_HEADERS);
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
  if (cursor.at + length > cursor.bytes.length) throw new Error("a record's part reaches beyond its batch");
  const bytes = cursor.bytes.subarray(cursor.at, cursor.at + length);
  cursor.at += length;
  return bytes;
}

/** Sevens of bits, the lowest first, and every other number negative. Reckoned in doubles: times have over 32 bits. */
function readVarint(cursor: Cursor): number {
  let value = 0;
  for (let weight = 1; weight < 2 ** 70; weight *= 128) {
    const byte = cursor.bytes.readUInt8(cursor.at++);
    value += (byte & 0x7f) * weight;
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  throw new Error("a number has more bytes than any may have");
}
