import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { expect } from "vitest";
import { z } from "zod";
import { type KnownEvent, toMarked } from "../builders/known-events.ts";
import type { Random } from "../builders/random.ts";
import {
  expectedCode,
  expectedCommunity,
  expectedFlat,
  expectedFull,
  expectedQuick,
  isFound,
  type Known,
} from "./address-oracle.ts";
import { expectedActivity } from "./expected-activity.ts";
import { createOracle } from "./oracle.ts";
import { expectedTimeline, TIMELINE_FIELDS } from "./timeline-oracle.ts";

const DATASETS = ["global", "community"];
const ACTIVITY: readonly { days: number; hours: number; datasets: readonly string[] }[] = [
  { days: 2, hours: 1, datasets: ["global"] },
  { days: 30, hours: 24, datasets: DATASETS },
  { days: 20, hours: 7, datasets: ["community"] },
  { days: 90, hours: 168, datasets: DATASETS },
];
const DAY = 24 * 60 * 60 * 1000;

const windowSchema = z.object({
  metadata: z.union([z.object({ end_date: z.string() }), z.object({ end: z.string() })]),
});
/** The service has a clock of its own, so the oracle takes the end of the window from the answer. */
function windowEnd(body: unknown): number {
  const { metadata } = windowSchema.parse(body);
  return Date.parse("end" in metadata ? metadata.end : metadata.end_date);
}

export type Interface = { readonly url: string; readonly key: string };

/**
 * Compares all answers of a query service that come from observations with the brute-force oracle.
 * @throws with the first answer that differs.
 */
export async function assertAnswers(
  { url, key }: Interface,
  { events, tags }: { readonly events: readonly KnownEvent[]; readonly tags: readonly Tag[] },
  random: Random,
  addressesAsked: number,
): Promise<void> {
  const oracle = createOracle(events, tags);
  const ask = async (path: string, body?: unknown): Promise<{ status: number; body: unknown }> => {
    const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { ...request, headers: { key, "content-type": "application/json" } });
    return { status: response.status, body: await response.json() };
  };

  for (const tag of [tags[0], tags.at(-1)]) {
    if (tag === undefined) continue;
    for (const { days, hours, datasets } of ACTIVITY) {
      const labels = datasets.join(",");
      const path = `/v3/tags/${tag.id}/activity?days=${days}&granularity=${hours}h&include_ips=true&workspace_labels=${labels}`;
      const { status, body } = await ask(path);
      expect(status, path).toBe(200);
      const now = windowEnd(body);
      expect(body, path).toEqual(expectedActivity(oracle, { tag, days, hours, datasets, includeIps: true, now }));
    }
  }

  const asked = random.shuffle([...new Set(events.map(({ ip }) => ip))]).slice(0, addressesAsked);
  const ips = [...asked, "45.250.0.1"];
  const known: Known = {
    seen: events.filter(({ ip, dataset }) => dataset === "global" && ips.includes(ip)).map(toMarked),
    tags,
    serviceOf: () => undefined,
    actorOf: () => undefined,
  };
  const assertEqual = async (path: string, expected: object, body?: unknown) =>
    expect(await ask(path, body), path).toEqual({ status: 200, body: expected });
  const unrestricted = { restricted_fields: [] };
  for (const ip of ips) {
    expect(await ask(`/v3/community/${ip}`), ip).toEqual(expectedCommunity(ip, known));
    await assertEqual(`/v3/ip/${ip}`, { ...expectedFull(ip, known), request_metadata: unrestricted });
    await assertEqual(`/v2/noise/context/${ip}`, expectedFlat(ip, known));
    const [field, days] = [random.pick(TIMELINE_FIELDS), random.int(1, 90)];
    const path = `/v3/noise/ips/${ip}/timeline?field=${field}&days=${days}&granularity=5h`;
    const answer = await ask(path);
    const now = windowEnd(answer.body);
    // The answer does not have the milliseconds of its window's start.
    if (known.seen.some(({ at }) => Math.abs(at - (now - days * DAY)) < 1_000)) continue;
    expect(answer, path).toEqual({
      status: 200,
      body: expectedTimeline(ip, { field, days, granularity: "5h", now }, known),
    });
  }
  const found = ips.filter((ip) => isFound(ip, known));
  const metadata = { ...unrestricted, message: "", ips_not_found: ips.filter((ip) => !isFound(ip, known)) };
  for (const [quick, form] of [["false", expectedFull] as const, ["true", expectedQuick] as const]) {
    const data = found.map((ip) => form(ip, known));
    await assertEqual(`/v3/ip?quick=${quick}`, { data, request_metadata: metadata }, { ips });
  }
  await assertEqual(
    "/v2/noise/multi/quick",
    ips.map((ip) => expectedCode(ip, known)),
    { ips },
  );
}
