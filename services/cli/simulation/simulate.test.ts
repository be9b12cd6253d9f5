import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";
import { DAY_MS, floorToHour, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { describe, expect, test } from "vitest";
import { readStarterTags } from "./reference/starter-tags.ts";
import { simulate } from "./simulation.ts";

const NOW = Date.parse("2026-11-20T14:23:45Z");

/** The simulated observations as the intake accepts them. Throws when it would reject one. */
function accepted(days: number, now = NOW): (WireObservation & { readonly at: number })[] {
  return [...simulate(days, now)].map((value) => {
    const result = validateObservation(value, { now, retentionDays: days, right: "everything" });
    if ("reason" in result) throw new Error(`${result.reason}: ${result.detail}`);
    return { ...result.observation, at: result.observedAt };
  });
}

const hourOf = (value: Record<string, unknown>) => floorToHour(Date.parse(String(value.observed_at)));
const idOf = (value: Record<string, unknown>) => value.observation_id;

describe("a simulated fleet", () => {
  test("sends only observations that the intake accepts, none from the future or before its first day", () => {
    for (const days of [1, 3]) {
      const times = accepted(days).map(({ at }) => at);
      expect(times.length).toBeGreaterThan(days * 24 * 100);
      expect(Math.max(...times)).toBeLessThanOrEqual(NOW);
      expect(Math.min(...times)).toBeGreaterThan(NOW - days * DAY_MS);
    }
  });

  test("says in every observation that it is simulated", () => {
    const observations = accepted(1);
    expect(observations.filter(({ sensor_id = "" }) => !/^simulated-\d\d$/.test(sensor_id))).toEqual([]);
    expect(observations.filter(({ observation_id }) => !observation_id?.startsWith("simulated:"))).toEqual([]);
    expect(observations.filter(({ metadata }) => metadata?.simulated !== true)).toEqual([]);
  });

  test("uses only tags that the starter catalogue has", async () => {
    const slugs = new Set((await readStarterTags(NOW)).map(({ slug }) => slug));
    const used = new Set(accepted(2).flatMap((observation) => observation.tags));
    expect(used.size).toBeGreaterThan(5);
    expect([...used].filter((slug) => !slugs.has(slug))).toEqual([]);
  });

  test("comes from many addresses, each of which always looks for the same", () => {
    const tagsBySource = new Map<string, Set<string>>();
    for (const { source_ip, tags } of accepted(2)) {
      const seen = tagsBySource.get(source_ip) ?? new Set();
      tagsBySource.set(source_ip, new Set([...seen, ...tags]));
    }
    expect(tagsBySource.size).toBeGreaterThan(500);
    expect([...tagsBySource.values()].filter((tags) => tags.size !== 1)).toEqual([]);
  });
});

describe("simulating again", () => {
  test("gives the very same observations", () => {
    expect([...simulate(2, NOW)]).toEqual([...simulate(2, NOW)]);
  });

  test("gives every observation an id of its own", () => {
    const ids = [...simulate(3, NOW)].map(idOf);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("later adds the hours since, and changes no earlier observation", () => {
    const before = [...simulate(1, NOW)];
    const later = new Map([...simulate(2, NOW + 5 * HOUR_MS)].map((value) => [idOf(value), value]));
    expect(before.map((value) => later.get(idOf(value)))).toEqual(before);
    const known = new Set(before.map(idOf));
    const since = [...later.values()].filter((value) => !known.has(idOf(value)) && hourOf(value) > floorToHour(NOW));
    expect(new Set(since.map(hourOf)).size).toBe(5);
  });
});

test("hours come oldest first, all of them", () => {
  const hours = [...simulate(1, NOW)].map(hourOf);
  expect(hours).toEqual(hours.toSorted((a, b) => a - b));
  expect(new Set(hours).size).toBe(24);
});
