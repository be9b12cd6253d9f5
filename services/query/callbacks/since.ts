import { activityWindow, DAY_MS, retentionStart } from "@noisefloor/domain/time/window.ts";
import type { AuthorizedCaller } from "../auth.ts";
import type { CallbackDeps } from "./known.ts";

/**
 * What was named since then counts, in milliseconds since 1970 UTC: with `days` in whole hours, and as far as observations
 * are kept and the caller's plan reaches.
 */
export function callbacksSince(
  { limits: { reach_days: reachDays } }: AuthorizedCaller,
  days: number | undefined,
  { now, retentionDays }: Pick<CallbackDeps, "now" | "retentionDays">,
): number {
  const at = now();
  const stored = Math.max(retentionStart(at, retentionDays()), at - reachDays * DAY_MS);
  return days === undefined ? stored : Math.max(stored, activityWindow(at, Math.min(days, reachDays)).start);
}
