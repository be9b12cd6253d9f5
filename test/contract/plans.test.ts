import { afterAll, beforeAll, expect, test } from "vitest";
import { createWorld, type World } from "../support/worlds/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld(() => Date.parse("2026-11-20T14:30:00Z"));
});
afterAll(() => world.close());

const PLANS = [
  { name: "unauthenticated", lookups_per_day: 100, reach_days: 1 },
  { name: "community", lookups_per_day: 1_000, reach_days: 10 },
  { name: "standard", lookups_per_day: 10_000, reach_days: 30 },
  { name: "unlimited", reach_days: 90 },
];

test("the plans are those configured, with what the caller has left, and asking costs nothing", async () => {
  const key = await world.addCaller("standard", ["community_dataset"]);
  const limits = { lookups_per_day: 10_000, reach_days: 30 };
  const caller = { plan: "standard", entitlements: ["community_dataset"], ...limits };
  for (const left of [10_000, 9_999, 9_998]) {
    for (const _again of [1, 2]) {
      const { status, body } = await world.get("/v3/plans", { key });
      expect([status, body]).toEqual([200, { plans: PLANS, caller: { ...caller, lookups_left: left } }]);
    }
    await world.get("/v3/community/45.0.0.1", { key });
  }
});

test("a plan without a limit has no number of lookups, and no key is the plan unauthenticated", async () => {
  const key = await world.addCaller("unlimited");
  const { body } = await world.get("/v3/plans", { key });
  expect(body).toEqual({ plans: PLANS, caller: { plan: "unlimited", entitlements: [], reach_days: 90 } });
  const limits = { lookups_per_day: 100, lookups_left: 100, reach_days: 1 };
  const stranger = { plan: "unauthenticated", entitlements: [], ...limits };
  expect((await world.get("/v3/plans", {})).body).toEqual({ plans: PLANS, caller: stranger });
  expect((await world.get("/v3/plans", { key: "made-up" })).status).toBe(401);
});
