import type { FileRecord, IgnoredReason } from "./format.ts";

/** How many records were ignored, by reason. */
export type IgnoredCounts = ReadonlyMap<IgnoredReason, number>;

/** Counts the records that are no observations. */
export function countIgnored(): { readonly counts: IgnoredCounts; add(record: FileRecord): boolean } {
  const counts = new Map<IgnoredReason, number>();
  return {
    counts,
    /** @returns whether the record is ignored. */
    add({ ignored }) {
      if (ignored !== undefined) counts.set(ignored, (counts.get(ignored) ?? 0) + 1);
      return ignored !== undefined;
    },
  };
}

export function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
