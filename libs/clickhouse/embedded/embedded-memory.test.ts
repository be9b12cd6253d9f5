import { memoryLimits } from "@noisefloor/config/memory.ts";
import { expect, test } from "vitest";
import { allocatorEnvironment, isSmall } from "./embedded-memory.ts";

const GIBIBYTE = 2 ** 30;

test("only a server with little memory returns freed memory sooner", () => {
  const [small, large] = [GIBIBYTE / 2, GIBIBYTE].map((available) => memoryLimits(available).clickHouse);
  expect([small, large].map((bytes = 0) => isSmall(bytes))).toEqual([true, false]);
  expect(allocatorEnvironment(small ?? 0)).toMatchObject({ MALLOC_CONF: expect.stringContaining("dirty_decay_ms") });
  expect(allocatorEnvironment(large ?? 0)).toEqual({});
});
