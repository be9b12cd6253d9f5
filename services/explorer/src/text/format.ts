const count = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });

export const formatCount = (value: number) => count.format(value);
/** For axes: `12K`. */
export const formatCompact = (value: number) => compact.format(value);

export function formatShare(part: number, whole: number): string {
  return whole === 0 ? "0%" : percent.format(part / whole);
}

/** `1 address`, `2,000 addresses`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`;
}

/** `+12%` against what was before; `new` when there was nothing. @param before undefined: nothing was stored then. */
export function formatChange(now: number, before: number | undefined): string {
  if (before === undefined) return "no data before";
  if (before === 0) return now === 0 ? "0%" : "new";
  const change = percent.format(now / before - 1);
  return now > before ? `+${change}` : change;
}

/** The sort key of a change: a new entry has grown more than all others. Undefined where the change is unknown. */
export function growthOf(now: number | undefined, before: number | undefined): number | undefined {
  if (now === undefined || before === undefined) return undefined;
  if (before === 0) return now === 0 ? 1 : Number.MAX_VALUE;
  return now / before;
}

/** `2026-11-20T14:00:00Z` or `2026-11-20 14:00:00` as `2026-11-20 14:00`. */
export function formatMinute(timestamp: string): string {
  return timestamp.slice(0, 16).replace("T", " ");
}

/** `2026-11-20T14:00:00Z` or `2026-11-20 14:00:00`, both UTC, in milliseconds since 1970. */
export function toTime(timestamp: string): number {
  return Date.parse(timestamp.endsWith("Z") ? timestamp : `${timestamp.replace(" ", "T")}Z`);
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** How long ago, in its largest unit. @param timestamp in UTC. */
export function formatAgo(timestamp: string, now: number): string {
  const elapsed = now - toTime(timestamp);
  for (const [unit, length] of UNITS) {
    if (elapsed >= length) return `${plural(Math.floor(elapsed / length), unit)} ago`;
  }
  return "less than a minute ago";
}
