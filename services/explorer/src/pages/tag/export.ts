import type { Bucket } from "../../api/operations.ts";

/** With a line for the names; RFC 4180. Times and numbers need no quotes. */
export function toCsv(buckets: readonly Bucket[]): string {
  const lines = buckets.map(({ start, end, active_ips: count }) => `${start},${end},${count}`);
  return ["start,end,active_ips", ...lines, ""].join("\r\n");
}

/** Each bucket as the API answers it, in a line of its own. */
export function toNdjson(buckets: readonly Bucket[]): string {
  return buckets.map((bucket) => `${JSON.stringify(bucket)}\n`).join("");
}

export function addressesToCsv(ips: readonly string[]): string {
  return ["ip", ...ips, ""].join("\r\n");
}

export function addressesToNdjson(ips: readonly string[]): string {
  return ips.map((ip) => `${JSON.stringify({ ip })}\n`).join("");
}
