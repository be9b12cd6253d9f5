import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { type Oracle, sampleOf } from "./oracle.ts";

export type ActivityAsked = {
  readonly tag: Tag;
  /** After the clamp to the caller's reach. */
  readonly days: number;
  readonly hours: number;
  readonly datasets: readonly string[];
  readonly includeIps: boolean;
  readonly now: number;
};

/** The whole answer of tag activity, by the oracle. */
export function expectedActivity(oracle: Oracle, asked: ActivityAsked) {
  const { tag, days, hours, datasets, includeIps, now } = asked;
  const buckets = oracle.buckets({ tagId: tag.id, days, hours, datasets, now });
  const allIps = new Set(buckets.flatMap(({ addresses }) => [...addresses]));
  const classes: Record<string, number> = {};
  for (const ip of allIps) {
    const classification = oracle.classification(ip, datasets);
    classes[classification] = (classes[classification] ?? 0) + 1;
  }
  const isTruncated = buckets.some(({ addresses }) => addresses.size > 1_000);
  return {
    id: tag.id,
    slug: tag.slug,
    activity: {
      [tag.intention]: buckets.map(({ start, end, addresses }) => ({
        start,
        end,
        include_start: true,
        include_end: false,
        timestamp: start,
        active_ips: addresses.size,
        ...(includeIps ? { ips: sampleOf(addresses, 1_000) } : {}),
      })),
    },
    aggregations: { total_ips: allIps.size, classification: classes },
    metadata: {
      granularity: `${hours}h`,
      start_date: buckets[0]?.start,
      end_date: buckets.at(-1)?.end,
      ...(includeIps ? { ips_included: true, ips_per_bucket: 1_000, ips_truncated: isTruncated } : {}),
    },
  };
}
