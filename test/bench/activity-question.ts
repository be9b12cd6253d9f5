import { isDeepStrictEqual } from "node:util";
import type { Dataset } from "@noisefloor/domain/access/scope.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { z } from "zod";
import type { World } from "./world.ts";

/** One of a world's questions. */
export type Asked = {
  readonly tag: "heavy" | "ordinary" | "steady";
  readonly days: number;
  readonly hours: number;
  readonly ips: boolean;
};

export function nameOf({ tag, days, hours, ips }: Asked): string {
  return `${tag} tag, ${days} d by ${hours} h${ips ? ", with addresses" : ""}`;
}

export function toQuestion(world: World, { tag, days, hours, ips }: Asked): Omit<ActivityQuestion, "start" | "end"> {
  return { tag: world[tag], days, width: hours * 3_600, includeIps: ips };
}

/** What tag activity is asked for; times and the width of a bucket in seconds. */
export type ActivityQuestion = {
  readonly tag: Tag;
  readonly days: number;
  readonly start: number;
  readonly end: number;
  readonly width: number;
  readonly includeIps: boolean;
};

/** What the service and its peers must answer alike. */
export type ActivityAnswer = {
  readonly total: number;
  /** Distinct addresses by bucket, empty ones included. */
  readonly buckets: readonly number[];
  /** Undefined where the peer does not split them. */
  readonly classes?: Readonly<Record<string, number>> | undefined;
  /** How many addresses all lists have together. */
  readonly listed?: number | undefined;
};

/** @param datasets the global one alone by default. */
export function pathOf(
  { tag, days, width, includeIps }: Omit<ActivityQuestion, "start" | "end">,
  datasets: readonly Dataset[] = ["global"],
): string {
  const path = `/v3/tags/${tag.id}/activity?days=${days}&granularity=${width / 3_600}h&include_ips=${includeIps}`;
  return `${path}&workspace_labels=${datasets.join(",")}`;
}

const bodySchema = z.object({
  activity: z.record(z.string(), z.array(z.object({ active_ips: z.int(), ips: z.array(z.string()).optional() }))),
  aggregations: z.object({ total_ips: z.int(), classification: z.record(z.string(), z.int()) }),
  metadata: z.object({ start_date: z.string(), end_date: z.string() }),
});

/** Asks the service. The window is that of its answer: the hour may turn between two questions. */
export async function askService(
  world: World,
  asked: Omit<ActivityQuestion, "start" | "end">,
): Promise<{ question: ActivityQuestion; answer: ActivityAnswer }> {
  const { activity, aggregations, metadata } = bodySchema.parse(JSON.parse(await world.service.get(pathOf(asked))));
  const buckets = Object.values(activity)[0] ?? [];
  return {
    question: { ...asked, start: Date.parse(metadata.start_date) / 1_000, end: Date.parse(metadata.end_date) / 1_000 },
    answer: {
      total: aggregations.total_ips,
      buckets: buckets.map(({ active_ips }) => active_ips),
      classes: aggregations.classification,
      listed: asked.includeIps ? buckets.reduce((sum, { ips = [] }) => sum + ips.length, 0) : undefined,
    },
  };
}

/** @returns what differs between our answer and a peer's; undefined when nothing does. */
export function differenceOf(ours: ActivityAnswer, theirs: ActivityAnswer): string | undefined {
  const differing = (["total", "buckets", "classes", "listed"] as const).filter(
    (member) => theirs[member] !== undefined && !isDeepStrictEqual(ours[member], theirs[member]),
  );
  return differing.length === 0 ? undefined : `answers differ in ${differing.join(", ")}`;
}
