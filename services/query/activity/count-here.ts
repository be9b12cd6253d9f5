import { isRefused } from "@noisefloor/clickhouse/client/errors.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { type BucketBits, countAddresses } from "./bucket-bits.ts";
import { type Grid, wideBuckets } from "./count-buckets.ts";
import { countRows } from "./count-rows.ts";
import { blocksOf } from "./hour-blocks.ts";
import { listAddresses } from "./list-addresses.ts";
import { type AddressBits, readBits, readRows } from "./queries.ts";
import type { Refusals } from "./refusals.ts";

export type MostHere = { readonly rows: number; readonly addresses: number };

/** Six and ten megabytes on their way, and tens of milliseconds of our own. */
export const MOST_HERE: MostHere = { rows: 400_000, addresses: 500_000 };

export type CountedHere = {
  /** Distinct addresses by bucket. */
  readonly counts: Uint32Array;
  /** The distinct addresses of all buckets, in no particular order. */
  readonly addresses: Uint32Array;
  /** See {@link listAddresses}. */
  list(cap: number): Promise<readonly Uint32Array[]>;
};

export type CountHereOptions = { readonly most: MostHere; readonly refusals: Refusals };

/**
 * Counts the addresses of a slice here. The rows of a tag that has few are read as they are: to plan a query that counts
 * takes the store longer. Of more rows, the store joins those of each address.
 * @returns undefined where both are too many, so that the store counts faster.
 */
export async function countHere(
  grid: Grid,
  buckets: number,
  { most, refusals }: CountHereOptions,
  read: Read,
): Promise<CountedHere | undefined> {
  /** Undefined when the store refuses the query, or has refused it lately. */
  const attempt = async <Answer>(query: string, answer: () => Promise<Answer>): Promise<Answer | undefined> => {
    const key = JSON.stringify([query, grid.tag, grid.scopes, grid.end - grid.from, grid.width]);
    if (refusals.has(key)) return undefined;
    try {
      return await answer();
    } catch (error) {
      if (!isRefused(error)) throw error;
      refusals.add(key);
      return undefined;
    }
  };

  const { tag, scopes, end } = grid;
  const rowsQuery = readRows({ most: most.rows, scopes: scopes.length });
  const rows = await attempt("rows", () => read(rowsQuery, { tag, scopes, end, first: blocksOf(grid).first }));
  if (rows !== undefined) {
    const counted = await countRows(rows, grid, buckets);
    return counted && toCounted(counted.bits, counted.counts);
  }
  const wide = wideBuckets(grid);
  if (wide === undefined) return undefined;
  const bitsQuery = readBits({ ...wide.shape, most: most.addresses });
  const blocks = await attempt("bits", () => read(bitsQuery, wide.params));
  if (blocks === undefined) return undefined;
  const bits = joinBlocks(blocks);
  return toCounted(bits, await countAddresses(bits, buckets));
}

function toCounted(bits: BucketBits, counts: Uint32Array): CountedHere {
  return { counts, addresses: bits.addresses, list: (cap) => listAddresses(bits, counts, cap) };
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
