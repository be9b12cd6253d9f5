import fc from "fast-check";
import { expect, test } from "vitest";
import { type KnownBlocks, NO_BLOCKS, withBlocks } from "./observation-changes.ts";

const read = (known: KnownBlocks, numbers: readonly number[], isInOrder: boolean, partition = 7) =>
  withBlocks(known, {
    partitions: Uint32Array.from(numbers, () => partition),
    numbers: [...numbers],
    isInOrder: Uint32Array.of(isInOrder ? 1 : 0),
  });

test("of a single server only the last block of a partition has to be kept", () => {
  const known = read(read(NO_BLOCKS, [12, 9], true), [15], true);
  expect([...known]).toEqual([[7, { upTo: 15, others: [] }]]);
});

test("of replicas a block that is missing may still come", () => {
  const known = read(NO_BLOCKS, [0, 1, 3, 5], false);
  expect(known.get(7)).toEqual({ upTo: 1, others: [3, 5] });
  expect(read(known, [2], false).get(7)).toEqual({ upTo: 3, others: [5] });
});

test("partitions are known by themselves", () => {
  const known = read(read(NO_BLOCKS, [0], false), [0, 2], false, 8);
  expect(known.get(7)).toEqual({ upTo: 0, others: [] });
  expect(known.get(8)).toEqual({ upTo: 0, others: [2] });
});

test("in whatever order replicas show blocks, each is known once it was read, and no other", () => {
  const pieces = fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 12 })), { maxLength: 5 });
  fc.assert(
    fc.property(pieces, (all) => {
      const { upTo, others } = all.reduce((known, one) => read(known, one, false), NO_BLOCKS).get(7) ?? {
        upTo: -1,
        others: [],
      };
      const known = Array.from({ length: 13 }, (_, number) => number).filter(
        (number) => number <= upTo || others.includes(number),
      );
      expect(known).toEqual([...new Set(all.flat())].sort((one, other) => one - other));
    }),
  );
});
