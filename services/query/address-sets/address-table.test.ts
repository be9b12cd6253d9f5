import fc from "fast-check";
import { expect, test } from "vitest";
import { AddressTable } from "./address-table.ts";

const address = fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0xffff_ffe0, max: 0xffff_ffff }));

test("addresses are numbered in the order in which they come, and others have no number", () => {
  fc.assert(
    fc.property(fc.array(fc.array(address)), fc.array(address), (batches, others) => {
      const table = new AddressTable();
      for (const batch of batches) {
        table.reserve(batch.length);
        for (const one of batch) table.add(one);
      }
      const distinct = [...new Set(batches.flat())];
      expect([...table.addresses()]).toEqual(distinct);
      expect(table.count).toBe(distinct.length);
      for (const one of [...distinct, ...others]) expect(table.indexOf(one)).toBe(distinct.indexOf(one));
    }),
  );
});

test("a table that grows finds each of many addresses", () => {
  const table = new AddressTable();
  const addresses = Uint32Array.from({ length: 100_000 }, (_, index) => index * 40_000);
  for (const one of addresses) {
    table.reserve(1);
    table.add(one);
  }
  expect(table.addresses()).toEqual(addresses);
  expect(addresses.every((one, index) => table.indexOf(one) === index && table.indexOf(one + 1) === -1)).toBe(true);
});
