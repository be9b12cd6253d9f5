import type { NumberColumn } from "@noisefloor/clickhouse/client/native.ts";

/** Rows of `tag_samples` have the addresses of a band: with hash values from one on, up to that of the next band. */
export type HashBands = {
  /** The lowest hash value of each band, ascending. */
  readonly froms: readonly number[];
  /** The number of the band that begins with a hash value. */
  readonly numberOf: (hashFrom: number) => number;
};

/** The bands that rows have. */
export function bandsOf(blocks: readonly { readonly hash_from: NumberColumn }[]): HashBands {
  const distinct = new Set<number>();
  for (const { hash_from } of blocks) for (const hashFrom of hash_from) distinct.add(hashFrom);
  const froms = [...distinct].sort((one, other) => one - other);
  const numbers = new Map(froms.map((hashFrom, band) => [hashFrom, band]));
  return { froms, numberOf: (hashFrom) => numbers.get(hashFrom) ?? 0 };
}
