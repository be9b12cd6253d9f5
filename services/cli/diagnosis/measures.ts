import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { knownOf } from "./probes/probe.ts";
import type { StoreFacts } from "./probes/probe-store.ts";

/** How many bytes a day adds, by what the stored observations take; undefined when that is not known. */
export function bytesPerDay({ size, perDay }: Pick<StoreFacts, "size" | "perDay">): number | undefined {
  const { bytes = 0, observations = 0 } = knownOf(size) ?? {};
  const added = knownOf(perDay);
  return added === undefined || observations === 0 ? undefined : Math.round((bytes / observations) * added);
}

/**
 * In how many days the disk has no more space than is kept free, at the present rate; undefined when that is not known,
 * when the retention deletes as much before, and on a disk that is full already.
 */
export function daysUntilFull(
  facts: Pick<StoreFacts, "disk" | "size" | "perDay" | "retentionDays">,
): number | undefined {
  const [disk, kept, rate] = [knownOf(facts.disk), knownOf(facts.retentionDays), bytesPerDay(facts)];
  if (disk === undefined || kept === undefined || rate === undefined || disk.freeBytes < disk.floorBytes)
    return undefined;
  const space = disk.freeBytes - disk.floorBytes;
  return rate * kept <= (knownOf(facts.size)?.bytes ?? 0) + space ? undefined : space / rate;
}

/** As `full in about 3 days`, with a comma before it; empty when that is not known. */
export function formatFull(days: number | undefined): string {
  return days === undefined
    ? ""
    : `, full in about ${formatAge(Math.max(days * DAY_MS, 3_600_000))} at the present rate`;
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
