import { z } from "zod";
import { numberColumn, wideNumbers } from "../client/native.ts";

/**
 * Which blocks of the log `observation_changes` were read, by partition: a partition has the rows of five minutes, and is
 * called by the number of them since 1970. A server numbers the blocks of each partition in the order in which it shows
 * them. Replicas number them before they are stored, so that one may show a block after a later one: there, `upTo` is
 * the last one of those that were read without a gap.
 */
export type KnownBlocks = ReadonlyMap<number, { readonly upTo: number; readonly others: readonly number[] }>;

export const NO_BLOCKS: KnownBlocks = new Map();

/** SQL: the number of a partition, and of a part's. */
const PARTITION = "intDiv(toUnixTimestamp(stored_at), 300)";
const PARTITION_OF_PART = "intDiv(toUnixTimestamp(parseDateTimeBestEffort(splitByChar('_', _part)[1], 'UTC')), 300)";
/** Bits of the block in a number that has a partition and a block. */
const BLOCK_BITS = 40;

/** SQL: the block of a row, as one number with its partition. */
export const BLOCK = `(bitShiftLeft(toUInt64(${PARTITION}), ${BLOCK_BITS}) + _block_number)`;

const lastOf = (partition: string) => `transform(${partition}, {partitions:Array(UInt32)}, {upTo:Array(Int64)}, -1)`;

/**
 * SQL, with {@link blockParams}: whether a row is in a block that was not read. A part's name states its last block, so
 * that parts without a newer one are not read: under a full intake the table has fifty million rows.
 */
export const IN_UNREAD_BLOCK = `(toInt64(_block_number) > ${lastOf(PARTITION)}
  AND toInt64(splitByChar('_', _part)[3]) > ${lastOf(PARTITION_OF_PART)}
  AND NOT has({others:Array(UInt64)}, ${BLOCK}))`;

export const blockParams = z.object({
  partitions: z.array(z.int()),
  upTo: z.array(z.int()),
  others: z.array(z.bigint()),
});

/** The parameters of {@link IN_UNREAD_BLOCK} for those that were read. */
export function blockParamsOf(blocksRead: KnownBlocks): z.input<typeof blockParams> {
  const others = [...blocksRead].flatMap(([partition, { others }]) =>
    others.map((number) => BigInt(partition) * 2n ** BigInt(BLOCK_BITS) + BigInt(number)),
  );
  // ClickHouse's `transform` takes no empty arrays.
  const all = blocksRead.size === 0 ? [[0, { upTo: -1 }] as const] : [...blocksRead];
  return { partitions: all.map(([partition]) => partition), upTo: all.map(([, { upTo }]) => upTo), others };
}

/**
 * SQL: columns that name the blocks of a response in one row and the format Native, see {@link blockColumns}. A row that
 * no answer needs must count too: its block would be read again and again.
 * @param blocks SQL: an array of the distinct {@link BLOCK} of all rows.
 */
export const selectBlocks = (blocks: string) => `
  ifNull((SELECT toUInt32(engine NOT LIKE 'Replicated%') FROM system.tables
    WHERE database = currentDatabase() AND name = 'observation_changes'), 0) AS isInOrder,
  arrayMap(block -> toUInt32(bitShiftRight(block, ${BLOCK_BITS})), ${blocks}) AS partitions,
  arrayMap(block -> bitAnd(block, ${2 ** BLOCK_BITS - 1}), ${blocks}) AS numbers`;

export const blockColumns = z.object({
  /** 1 where none can appear with a lower number than one that was seen. */
  isInOrder: numberColumn,
  /** Partition and number of each block. */
  partitions: numberColumn,
  numbers: wideNumbers,
});

/** Older partitions are long deleted. */
const MAX_PARTITIONS = 500;

/** The blocks that were read before and those of a response. */
export function withBlocks(
  before: KnownBlocks,
  { partitions, numbers, isInOrder: [isInOrder] }: z.output<typeof blockColumns>,
): KnownBlocks {
  const read = new Map<number, number[]>();
  for (const [index, partition] of partitions.entries()) {
    const blocks = read.get(partition) ?? [...(before.get(partition)?.others ?? [])];
    blocks.push(numbers[index] ?? 0);
    read.set(partition, blocks);
  }
  const all = new Map(before);
  for (const [partition, blocks] of read) {
    const upTo = before.get(partition)?.upTo ?? -1;
    all.set(partition, isInOrder === 1 ? { upTo: Math.max(upTo, ...blocks), others: [] } : withoutGap(upTo, blocks));
  }
  return new Map([...all].sort(([one], [other]) => other - one).slice(0, MAX_PARTITIONS));
}

function withoutGap(from: number, numbers: readonly number[]) {
  let upTo = from;
  const others: number[] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    if (number === upTo + 1) upTo = number;
    else if (number > upTo) others.push(number);
  }
  return { upTo, others };
}
