import { z } from "zod";
import { MAX_DAYS } from "./window.ts";

/** What a caller may do: how often and how far back. */
export const planSchema = z.strictObject({
  /** Lookups per UTC day; absent means without limit. API, "What counts as a lookup". */
  lookups_per_day: z.int().min(1).max(1_000_000_000).optional(),
  /** How many days back tag activity and timeline reach. */
  reach_days: z.int().min(1).max(MAX_DAYS),
});
export type PlanTerms = z.infer<typeof planSchema>;

/** By name. */
export type Plans = ReadonlyMap<string, PlanTerms>;

/** The plan of callers without a key; it must exist. SPEC, Authentication. */
export const UNAUTHENTICATED_PLAN = "unauthenticated";

/** API, Plans: the plans as they are unless configured otherwise. */
export const DEFAULT_PLANS: Plans = new Map([
  [UNAUTHENTICATED_PLAN, { lookups_per_day: 100, reach_days: 1 }],
  ["community", { lookups_per_day: 1_000, reach_days: 10 }],
  ["standard", { lookups_per_day: 10_000, reach_days: 30 }],
  ["unlimited", { reach_days: 90 }],
]);
