import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import { type BucketBits, countByBucket } from "./bucket-bits.ts";
import { type Grid, wideBuckets } from "./count-buckets.ts";
import { createRowCounter } from "./count-rows.ts";
import { blocksOf } from "./hour-blocks.ts";
import { listByBucket } from "./list-by-bucket.ts";
import { type AddressBits, readBits, readRows } from "./queries.ts";
import { type Refusals, withinLimit } from "./refusals.ts";

/** What this process counts or lists; of more, the store does it. */
export type MostInProcess = {
  readonly rows: number;
  readonly addresses: number;
  /** Of the bits of addresses' buckets, 32 in each. */
  readonly words: number;
  /** Addresses that a query reads for lists, repeated ones included, and how many of them of one bucket. */
  readonly candidates: number;
  readonly candidatesPerBucket: number;
};

/** Six and ten megabytes on their way, 16 of bits, ten for each group of lists, and tens of milliseconds. */
export const MOST_IN_PROCESS: MostInProcess = {
  rows: 400_000,
  addresses: 500_000,
  words: 2 ** 22,
  candidates: 800_000,
  candidatesPerBucket: 500_000,
};

export type CountedInProcess = {
  /** Distinct addresses by bucket. */
  readonly counts: Uint32Array;
  /** The distinct addresses of all buckets, in no particular order. */
  readonly addresses: Uint32Array;
  /** See {@link listByBucket}. */
  list(cap: number): Promise<readonly Uint32Array[]>;
};

export type InProcessOptions = { readonly most: MostInProcess; readonly refusals: Refusals };

/**
 * Counts the addresses of a slice in this process. The rows of a tag that has few are read as they are: to plan a query
 * that counts takes the store longer. Of more rows, the store joins those of each address, where buckets are wide.
 * @returns undefined where there are too many rows and addresses, or too many buckets for them.
 */
export async function countInProcess(
  grid: Grid,
  buckets: number,
  { most, refusals }: InProcessOptions,
  read: Read,
): Promise<CountedInProcess | undefined> {
  const { tag, scopes, from, end, width } = grid;
  const fromRows = async () => {
    const query = readRows({ most: most.rows, scopes: scopes.length });
    const counter = createRowCounter(grid, buckets, most.words);
    await read({ ...query, onBlock: counter.add }, { tag, scopes, end, first: blocksOf(grid).first });
    const counted = counter.counted();
    return counted && toCounted(counted.bits, counted.counts);
  };
  const wide = wideBuckets(grid);
  const fromBits = async ({ shape, params }: NonNullable<typeof wide>) => {
    const blocks = await read(readBits({ ...shape, most: most.addresses }), params);
    await ownTurn();
    const bits = joinBlocks(blocks);
    return toCounted(bits, await countByBucket(bits, buckets));
  };
  const keyOf = (query: string) => [query, tag, scopes, end - from, width];
  return (
    (await withinLimit(keyOf("rows"), fromRows, refusals)) ??
    (wide && (await withinLimit(keyOf("bits"), () => fromBits(wide), refusals)))
  );
}

function toCounted(bits: BucketBits, counts: Uint32Array): CountedInProcess {
  return { counts, addresses: bits.addresses, list: (cap) => listByBucket(bits, counts, cap) };
}

function joinBlocks(blocks: readonly AddressBits[]): BucketBits {
  const addresses = joinColumns(blocks.map(({ source_ip }) => source_ip));
  const words = joinColumns(blocks.map(({ bits }) => bits));
  return { addresses, words, width: addresses.length === 0 ? 0 : words.length / addresses.length };
}

function joinColumns(columns: readonly Uint32Array[]): Uint32Array {
  const joined = new Uint32Array(columns.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const column of columns) {
    joined.set(column, end);
    end += column.length;
  }
  return joined;
}
