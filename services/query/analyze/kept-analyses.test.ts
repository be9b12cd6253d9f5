import { randomUUID } from "node:crypto";
import type { LimitedCaller } from "@noisefloor/http/limits/caller.ts";
import { expect, test } from "vitest";
import { keepAnalyses } from "./kept-analyses.ts";
import type { TextAnalysis } from "./operations.ts";

const withKey = (name: string): LimitedCaller => ({ name, hasKey: true });
const withoutKey = (name: string): LimitedCaller => ({ name, hasKey: false });

function analysisOf(unique_ips: number): TextAnalysis {
  const nothing = { noise_ips: 0, non_noise_ips: unique_ips, riot_ips: 0, noise_ips_found: [], riot_ips_found: [] };
  const share = { unknown_ips: [], percentage_of_noise_ips: 0, percentage_of_riot_ips: 0 };
  const stats = { actors: [], classifications: [], countries: [], operating_systems: [], tags: [] };
  return { uuid: randomUUID(), state: "completed", details: { unique_ips, ...nothing, ...share }, stats };
}

test.each([
  ["with a key", withKey("loud")],
  ["without a key", withoutKey("loud")],
])("a caller %s that uploads without end loses its own oldest analyses, and no other caller loses any", (_, loud) => {
  const kept = keepAnalyses(() => 0);
  const others = [withKey("quiet"), withoutKey("anyone")].map((caller) => {
    const analysis = analysisOf(1_000);
    kept.add(analysis, caller);
    return { caller, analysis };
  });
  const own = Array.from({ length: 100 }, () => analysisOf(10_000));
  for (const analysis of own) kept.add(analysis, loud);
  for (const { caller, analysis } of others) expect(kept.get(analysis.uuid, caller)).toBe(analysis);
  const left = own.filter(({ uuid }) => kept.get(uuid, loud) !== undefined);
  expect(left.length).toBeGreaterThan(5);
  expect(left).toEqual(own.slice(-left.length));
});

test("all callers without a key together take no more than half", () => {
  const kept = keepAnalyses(() => 0);
  const workspaces = Array.from({ length: 14 }, (_, index) => {
    const [caller, analysis] = [withKey(`team-${index}`), analysisOf(10_000)];
    kept.add(analysis, caller);
    return { caller, analysis };
  });
  for (let index = 0; index < 100; index++) kept.add(analysisOf(10_000), withoutKey(`address-${index}`));
  for (const { caller, analysis } of workspaces) expect(kept.get(analysis.uuid, caller)).toBe(analysis);
});
