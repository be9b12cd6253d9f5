import { HOUR_MS } from "@noisefloor/domain/time/window.ts";

/** A row of `tag_addresses` has one bit for each hour of a block, which starts at a multiple of its length since 1970. */
export const HOURS_PER_BLOCK = 64;
export const BLOCK_SECONDS = (HOURS_PER_BLOCK * HOUR_MS) / 1_000;
export const HOUR_SECONDS = HOUR_MS / 1_000;
const ALL_HOURS = 2n ** BigInt(HOURS_PER_BLOCK) - 1n;

/** Seconds since 1970 UTC, on the hour; the end is exclusive. */
type Span = { readonly from: number; readonly end: number };

/** The blocks that a span touches. */
export type Blocks = {
  /** The start of the first block, in seconds since 1970 UTC. */
  readonly first: number;
  /** For each block, the bits of its hours that are in the span. */
  readonly masks: readonly bigint[];
};

/** Which hours of which blocks are in a span. @param marked the parts of the span whose hours count; all by default. */
export function blocksOf(span: Span, marked: readonly Span[] = [span]): Blocks {
  const first = Math.floor(span.from / BLOCK_SECONDS) * BLOCK_SECONDS;
  const count = Math.max(0, Math.ceil((span.end - first) / BLOCK_SECONDS));
  const masks = Array.from({ length: count }, (_, block) =>
    marked.reduce((mask, part) => mask | maskOf(part, first + block * BLOCK_SECONDS), 0n),
  );
  return { first, masks };
}

/** The start of the first block that a span touches, and of each hour of each block. */
export function blockHoursOf(span: Span): { readonly first: number; readonly hours: readonly (readonly number[])[] } {
  const { first, masks } = blocksOf(span);
  const hours = masks.map((_, block) =>
    Array.from({ length: HOURS_PER_BLOCK }, (_, hour) => first + block * BLOCK_SECONDS + hour * HOUR_SECONDS),
  );
  return { first, hours };
}

/** How the buckets of a grid, numbered from 0, cut the blocks. */
export type BlockSegments = {
  /** The start of the first block, in seconds since 1970 UTC. */
  readonly first: number;
  /** For each block, the number of the first bucket that it touches. */
  readonly firstBuckets: readonly number[];
  /** For each further bucket that a block may touch, and the first: by block, the bits of its hours in the bucket. */
  readonly segments: readonly (readonly bigint[])[];
};

/** @param grid buckets are `width` seconds wide and count from `start`, which may lie before the span. */
export function segmentsOf(span: Span, grid: { readonly start: number; readonly width: number }): BlockSegments {
  const { first, masks } = blocksOf(span);
  const starts = masks.map((_, block) => first + block * BLOCK_SECONDS);
  const bucketOf = (time: number) => Math.floor((time - grid.start) / grid.width);
  const firstBuckets = starts.map((start) => bucketOf(Math.max(start, span.from)));
  const segments = Array.from({ length: segmentCount(grid.width) }, (_, segment) =>
    starts.map((start, block) => {
      const from = grid.start + ((firstBuckets[block] ?? 0) + segment) * grid.width;
      const bucket = { from: Math.max(from, span.from), end: Math.min(from + grid.width, span.end) };
      return maskOf(bucket, start);
    }),
  );
  return { first, firstBuckets, segments };
}

/** How many buckets of a width in seconds a block can touch. */
export function segmentCount(width: number): number {
  return Math.ceil((HOURS_PER_BLOCK - 1) / (width / HOUR_SECONDS)) + 1;
}

/** The bits of the hours of the block from `start` that are in a span. */
function maskOf({ from, end }: Span, start: number): bigint {
  const toBit = (time: number) => Math.min(HOURS_PER_BLOCK, Math.max(0, (time - start) / HOUR_SECONDS));
  const [low, high] = [toBit(from), toBit(end)];
  if (high <= low) return 0n;
  return (ALL_HOURS << BigInt(low)) & (ALL_HOURS >> BigInt(HOURS_PER_BLOCK - high));
}
