import fc from "fast-check";
import { expect, test } from "vitest";
import { inTableOrder } from "./table-order.ts";

const address = fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1);

test("rows are in the order of their addresses, then of the rest of the key, and equal ones stay as they came", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ address, at: fc.integer({ min: 0, max: 3 }) })), (rows) => {
      const byTime = (one: { at: number }, other: { at: number }) => one.at - other.at;
      const sorted = inTableOrder(rows, (row) => row.address, byTime);
      const expected = rows.toSorted((one, other) => one.address - other.address || byTime(one, other));
      expect(sorted.length).toBe(rows.length);
      expect(sorted.every((row, index) => row === expected[index])).toBe(true);
    }),
  );
});
