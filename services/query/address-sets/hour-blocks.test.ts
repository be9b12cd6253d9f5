import fc from "fast-check";
import { expect, test } from "vitest";
import { BLOCK_SECONDS, blocksOf, segmentCount, segmentsOf } from "./hour-blocks.ts";

const HOUR = 3_600;
/** Starts in the middle of a block, and of every bucket's width. */
const ORIGIN = 1_790_000_000 - (1_790_000_000 % HOUR);

const grids = fc.record({
  hours: fc.integer({ min: 1, max: 400 }),
  /** How many hours at the start have expired. */
  expired: fc.integer({ min: 0, max: 200 }),
  width: fc.integer({ min: 1, max: 168 }),
  offset: fc.integer({ min: 0, max: 200 }),
});

/** The hours that are set in a mask, as seconds since 1970. */
const hoursOf = (mask: bigint, start: number) =>
  Array.from({ length: 64 }, (_, bit) => bit).flatMap((bit) =>
    (mask >> BigInt(bit)) & 1n ? [start + bit * HOUR] : [],
  );

test("the masks have exactly the hours of the span, and the segments put each into its bucket", () => {
  fc.assert(
    fc.property(grids, ({ hours, expired, width, offset }) => {
      const start = ORIGIN + offset * HOUR;
      const [from, end] = [start + Math.min(expired, hours) * HOUR, start + hours * HOUR];
      const expected = Array.from({ length: (end - from) / HOUR }, (_, hour) => from + hour * HOUR);

      const { first, masks } = blocksOf({ from, end });
      expect(first % BLOCK_SECONDS).toBe(0);
      expect(masks.flatMap((mask, block) => hoursOf(mask, first + block * BLOCK_SECONDS))).toEqual(expected);

      const cut = segmentsOf({ from, end }, { start, width: width * HOUR });
      expect(cut.segments).toHaveLength(segmentCount(width * HOUR));
      const found = cut.segments.flatMap((segment, index) =>
        segment.flatMap((mask, block) =>
          hoursOf(mask, cut.first + block * BLOCK_SECONDS).map((hour) => [
            hour,
            (cut.firstBuckets[block] ?? 0) + index,
          ]),
        ),
      );
      found.sort(([a = 0], [b = 0]) => a - b);
      expect(found).toEqual(expected.map((hour) => [hour, Math.floor((hour - start) / (width * HOUR))]));
    }),
  );
});
