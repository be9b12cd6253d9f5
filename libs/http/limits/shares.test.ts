import { expect, test } from "vitest";
import { createHoldings, sharesOf } from "./shares.ts";

const CALLER = { name: "one", hasKey: true };

test.each([-1, Number.NaN])("an amount of %d cannot be held", (amount) => {
  const holdings = createHoldings(sharesOf(8));
  expect(() => holdings.take(CALLER, amount)).toThrow(RangeError);
  expect(holdings.used()).toBe(0);
  expect(holdings.take(CALLER, 4)).toBeUndefined();
});
