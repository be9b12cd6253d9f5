import type { Tag } from "@noisefloor/domain/tag.ts";
import { expect } from "vitest";
import { z } from "zod";
import { dateOf } from "./address-oracle.ts";
import { expectedActivity } from "./expected-activity.ts";
import type { KnownEvent } from "./known-events.ts";
import { createOracle } from "./oracle.ts";
import type { Random } from "./random.ts";

const DATASETS = ["global", "community"];
const ACTIVITY: readonly { days: number; hours: number; datasets: readonly string[] }[] = [
  { days: 2, hours: 1, datasets: ["global"] },
  { days: 30, hours: 24, datasets: DATASETS },
  { days: 90, hours: 7, datasets: ["community"] },
  { days: 90, hours: 168, datasets: DATASETS },
];
const ADDRESSES_ASKED = 60;

const windowSchema = z.object({ metadata: z.object({ end_date: z.string() }) });

export type Interface = { readonly url: string; readonly key: string };

/**
 * Asks a query service for everything that is made from observations and compares it with the brute-force oracle.
 * @throws with the first answer that differs.
 */
export async function requireAnswers(
  { url, key }: Interface,
  known: { readonly events: readonly KnownEvent[]; readonly tags: readonly Tag[] },
  random: Random,
): Promise<void> {
  const { events, tags } = known;
  const oracle = createOracle(events, tags);
  const ask = async (path: string, body?: unknown): Promise<{ status: number; body: unknown }> => {
    const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, { ...request, headers: { key, "content-type": "application/json" } });
    return { status: response.status, body: await response.json() };
  };

  for (const tag of [tags[0], tags[1], tags.at(-1)]) {
    if (tag === undefined) continue;
    for (const { days, hours, datasets } of ACTIVITY) {
      const labels = datasets.join(",");
      const path = `/v3/tags/${tag.id}/activity?days=${days}&granularity=${hours}h&include_ips=true&workspace_labels=${labels}`;
      const { status, body } = await ask(path);
      expect(status, path).toBe(200);
      // The service has a clock of its own: where its window ended is where the oracle's has to.
      const now = Date.parse(windowSchema.parse(body).metadata.end_date);
      expect(body, path).toEqual(expectedActivity(oracle, { tag, days, hours, datasets, includeIps: true, now }));
    }
  }

  const byAddress = new Map<string, KnownEvent[]>();
  for (const event of events) {
    const together = byAddress.get(event.ip);
    if (together === undefined) byAddress.set(event.ip, [event]);
    else together.push(event);
  }
  const asked = random.shuffle([...byAddress.keys()]).slice(0, ADDRESSES_ASKED);
  for (const ip of [...asked, "45.250.0.1"]) {
    const last = oracle.lastSeen(ip, ["global"]);
    const found = {
      ip,
      noise: true,
      classification: oracle.classification(ip, ["global"]),
      last_seen: dateOf(last ?? 0),
    };
    expect(await ask(`/v3/community/${ip}`), ip).toMatchObject(
      last === undefined ? { status: 404, body: { ip, noise: false } } : { status: 200, body: found },
    );
    const seen = (byAddress.get(ip) ?? []).filter(({ dataset }) => dataset === "global");
    if (seen.length === 0) continue;
    const times = seen.map(({ at }) => at).sort((a, b) => a - b);
    const scanner = {
      first_seen: dateOf(times[0] ?? 0),
      last_seen: dateOf(times.at(-1) ?? 0),
      classification: oracle.classification(ip, ["global"]),
      metadata: { sensor_hits: seen.length },
    };
    expect(await ask(`/v3/ip/${ip}`), ip).toMatchObject({
      status: 200,
      body: { ip, internet_scanner_intelligence: scanner },
    });
  }
}
