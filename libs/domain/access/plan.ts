import * as z from "zod";
import { MAX_DAYS } from "../time/window.ts";

/** A plan's limits. */
export const planSchema = z.strictObject({
  /** Lookups per UTC day; absent: no limit. API, "What counts as a lookup". */
  lookups_per_day: z.int().min(1).max(1_000_000_000).optional(),
  /** How many days back tag activity and timeline reach. */
  reach_days: z.int().min(1).max(MAX_DAYS),
});
export type PlanLimits = z.infer<typeof planSchema>;

/** Limits by the plan's name. */
export type Plans = ReadonlyMap<string, PlanLimits>;

/** The plan of callers without a key. It always exists. SPEC, Authentication. */
export const UNAUTHENTICATED_PLAN = "unauthenticated";

/** The plans unless `PLANS` configures others. API, Plans. */
export const DEFAULT_PLANS: Plans = new Map([
  [UNAUTHENTICATED_PLAN, { lookups_per_day: 100, reach_days: 1 }],
  ["community", { lookups_per_day: 1_000, reach_days: 10 }],
  ["standard", { lookups_per_day: 10_000, reach_days: 30 }],
  ["unlimited", { reach_days: 90 }],
]);
