import { expect, test } from "vitest";
import { sortRows } from "./sort-rows.ts";

const rows = [
  { ip: "45.0.0.10", n: 2 },
  { ip: "45.0.0.9", n: 10 },
  { ip: "AS9", n: undefined },
  { ip: "AS10", n: 2 },
];
const ips = (sorted: typeof rows) => sorted.map(({ ip }) => ip);

test("numbers and texts with numbers are sorted by their values, rows without one last, equal ones as they were", () => {
  expect(ips(sortRows(rows, ({ n }) => n, false))).toEqual(["45.0.0.10", "AS10", "45.0.0.9", "AS9"]);
  expect(ips(sortRows(rows, ({ n }) => n, true))).toEqual(["45.0.0.9", "45.0.0.10", "AS10", "AS9"]);
  expect(ips(sortRows(rows, ({ ip }) => ip, false))).toEqual(["45.0.0.9", "45.0.0.10", "AS9", "AS10"]);
});
