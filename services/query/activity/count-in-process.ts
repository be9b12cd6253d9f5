import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { BucketBits } from "../address-sets/count-rows.ts";
import { createRowCounter } from "../address-sets/count-rows.ts";
import { blocksOf } from "../address-sets/hour-blocks.ts";
import type { Grid } from "./count-buckets.ts";
import { readRows } from "./queries.ts";
import { type Refusals, withinLimit } from "./refusals.ts";

/** What this process counts; of more, the store does it. */
export type MaxInProcess = {
  readonly rows: number;
  /** Of the bits of addresses' buckets, 32 in each. */
  readonly words: number;
};

/** Six megabytes on their way, 16 of bits, and tens of milliseconds. */
export const MAX_IN_PROCESS: MaxInProcess = { rows: 400_000, words: 2 ** 22 };

/** The buckets' bits of each address, and the number of addresses of each bucket. */
export type CountedInProcess = { readonly bits: BucketBits; readonly counts: Uint32Array };

/**
 * Counts the addresses of a slice in this process, from the rows of a tag that has few.
 * @returns undefined where there are too many rows, or too many buckets for the addresses.
 */
export async function countInProcess(
  grid: Grid,
  buckets: number,
  { max, refusals }: { readonly max: MaxInProcess; readonly refusals: Refusals },
  read: Read,
): Promise<CountedInProcess | undefined> {
  const { tag, scopes, from, end, width } = grid;
  const fromRows = async () => {
    const query = readRows({ most: max.rows, scopes: scopes.length });
    const counter = createRowCounter(grid, buckets, max.words);
    await read({ ...query, onBlock: counter.add }, { tag, scopes, end, first: blocksOf(grid).first });
    return counter.fits() ? counter.counted() : undefined;
  };
  return withinLimit(["rows", tag, scopes, end - from, width], fromRows, refusals);
}
