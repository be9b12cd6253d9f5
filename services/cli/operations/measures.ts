import type { StoreGrowth } from "@noisefloor/clickhouse/schema/growth.ts";
import type { Probe } from "./probe.ts";

/**
 * In how many days the disk has no more space than is kept free, at the present rate; undefined when that is not known,
 * or when the retention deletes as much before.
 */
export function daysUntilFull(
  { freeBytes, floorBytes }: { readonly freeBytes: number; readonly floorBytes: number },
  growth: Probe<StoreGrowth>,
  retentionDays: Probe<number>,
): number | undefined {
  if ("error" in growth || "error" in retentionDays || growth.value.bytesPerDay === undefined) return undefined;
  const { bytes, bytesPerDay } = growth.value;
  const space = Math.max(0, freeBytes - floorBytes);
  if (bytesPerDay * retentionDays.value <= bytes + space) return undefined;
  return space / bytesPerDay;
}

/** As `3 minutes`; a moment that lies ahead is `0 seconds` ago. */
export function formatAge(ms: number): string {
  const units = [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
    ["second", 1_000],
  ] as const;
  for (const [name, length] of units) {
    const count = Math.floor(ms / length);
    if (count >= 1) return `${count} ${name}${count === 1 ? "" : "s"}`;
  }
  return "0 seconds";
}

/** As `in step`, `12 seconds ahead` or `10 minutes behind`. */
export function formatSkew(ms: number): string {
  if (Math.abs(ms) < 1_000) return "in step (less than a second)";
  return `${formatAge(Math.abs(ms))} ${ms > 0 ? "ahead of" : "behind"} this machine's`;
}
