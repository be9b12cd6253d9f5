import { expect, test } from "vitest";
import { memoryLimits } from "./memory.ts";

const [MEBIBYTE, GIBIBYTE] = [2 ** 20, 2 ** 30];

/** In MiB, but for ClickHouse's. */
function limitsOf(available: number) {
  const { clickHouse: _, ...limits } = memoryLimits(available);
  return Object.fromEntries(Object.entries(limits).map(([name, bytes]) => [name, bytes / MEBIBYTE]));
}

test("ClickHouse gets the larger part of the memory, but leaves a small machine more", () => {
  expect(memoryLimits(GIBIBYTE / 2).clickHouse).toBe(Math.floor((GIBIBYTE / 2) * 0.45));
  expect(memoryLimits(16 * GIBIBYTE).clickHouse).toBe(Math.floor(16 * GIBIBYTE * 0.6));
  expect(memoryLimits(GIBIBYTE / 8).clickHouse).toBe(160 * MEBIBYTE);
});

test("a small machine holds fewer answers and bodies, from 4 GiB on all hold as many", () => {
  const largest = { answers: 256, bodies: 32, uploads: 64, searches: 256, intake: 128 };
  for (const gibibytes of [4, 24, 512]) expect(limitsOf(gibibytes * GIBIBYTE)).toEqual(largest);
  expect(limitsOf(GIBIBYTE)).toEqual({ answers: 64, bodies: 8, uploads: 24, searches: 64, intake: 128 });
  expect(limitsOf(GIBIBYTE / 4)).toEqual({ answers: 32, bodies: 8, uploads: 24, searches: 0, intake: 128 });
});
