import { expect, test } from "vitest";
import { allocatorEnvironment, defaultMemoryBytes, isSmall } from "./embedded-memory.ts";

const GIBIBYTE = 2 ** 30;

test("the smaller the machine, the more of its memory is left to the service", () => {
  expect(defaultMemoryBytes(GIBIBYTE / 2)).toBe(Math.floor((GIBIBYTE / 2) * 0.45));
  expect(defaultMemoryBytes(16 * GIBIBYTE)).toBe(Math.floor(16 * GIBIBYTE * 0.6));
  expect(defaultMemoryBytes(GIBIBYTE / 8)).toBe(160 * 2 ** 20);
});

test("only a server with little memory returns freed memory sooner", () => {
  const [small, large] = [GIBIBYTE / 2, GIBIBYTE].map((available) => defaultMemoryBytes(available));
  expect([small, large].map((bytes = 0) => isSmall(bytes))).toEqual([true, false]);
  expect(allocatorEnvironment(small ?? 0)).toMatchObject({ MALLOC_CONF: expect.stringContaining("dirty_decay_ms") });
  expect(allocatorEnvironment(large ?? 0)).toEqual({});
});
