/**
 * Which blocks of the table `address_changes` were read, by partition: a partition has the rows of five minutes, and is
 * called by the number of them since 1970. A server numbers the blocks of each partition in the order in which it shows
 * them. Replicas number them before they are stored, so that one may show a block after a later one: there, `upTo` is
 * the last one of those that were read without a gap.
 */
export type KnownBlocks = ReadonlyMap<number, { readonly upTo: number; readonly others: readonly number[] }>;

export const NO_BLOCKS: KnownBlocks = new Map();

/** Blocks of a table that were read: partition and number, as arrays of equal length. */
export type ReadBlocks = {
  readonly partitions: Uint32Array;
  readonly numbers: readonly number[];
  /** Whether none can appear with a lower number than one that was seen. */
  readonly isInOrder: boolean;
};

/** Older partitions are long deleted. */
const MAX_PARTITIONS = 500;

/** The blocks that were read before and those that were read now. */
export function withBlocks(before: KnownBlocks, { partitions, numbers, isInOrder }: ReadBlocks): KnownBlocks {
  const read = new Map<number, number[]>();
  for (const [index, partition] of partitions.entries()) {
    const blocks = read.get(partition) ?? [...(before.get(partition)?.others ?? [])];
    blocks.push(numbers[index] ?? 0);
    read.set(partition, blocks);
  }
  const all = new Map(before);
  for (const [partition, blocks] of read) {
    const upTo = before.get(partition)?.upTo ?? -1;
    all.set(partition, isInOrder ? { upTo: Math.max(upTo, ...blocks), others: [] } : withoutGap(upTo, blocks));
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
