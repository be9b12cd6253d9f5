import { expect, test } from "vitest";
import { z } from "zod";
import { FEED, makeChanges, makeList, writeForm } from "../../support/builders/feed.ts";

const before = makeList(["198.51.100.7", "9.9.9.9"]);
const after = makeList(["198.51.100.7", "1.0.0.2"], { "1.0.0.2": { tags: [], classification: "suspicious" } });
const bundleSchema = z.object({
  type: z.literal("bundle"),
  id: z.string(),
  objects: z.array(z.record(z.string(), z.unknown())),
});
const bundle = async (...args: Parameters<typeof writeForm>) =>
  bundleSchema.parse(JSON.parse((await writeForm(...args)).toString()));

test("a bundle of STIX has an indicator an address, each by the identity that stands in it once", async () => {
  const { id, objects } = await bundle("stix", after);
  const [identity, ...indicators] = objects;
  expect(id).toBe(`bundle--${FEED.id}`);
  expect(identity).toMatchObject({ type: "identity", name: "Noisefloor" });
  expect(indicators).toEqual([
    {
      type: "indicator",
      spec_version: "2.1",
      id: expect.stringMatching(/^indicator--[0-9a-f-]{36}$/),
      created_by_ref: identity?.id,
      created: "2026-11-18T08:00:00.000Z",
      modified: "2026-11-20T13:59:59.500Z",
      confidence: 60,
      external_references: [{ source_name: "Noisefloor", url: "https://noisefloor.example.org/ip/1.0.0.2" }],
      name: "1.0.0.2",
      indicator_types: ["anomalous-activity"],
      pattern: "[ipv4-addr:value = '1.0.0.2']",
      pattern_type: "stix",
      valid_from: "2026-11-20T13:59:58Z",
      valid_until: "2026-11-21T13:59:58Z",
    },
    expect.objectContaining({
      id: "indicator--3ae0b0a2-7289-5fda-8a85-02d057ba0968",
      name: "198.51.100.7",
      labels: ["mirai", "ssh-bruteforcer"],
      indicator_types: ["malicious-activity"],
      confidence: 80,
    }),
  ]);
});

test("changes are new indicators, and those of gone addresses as revoked", async () => {
  const { objects } = await bundle("stix", makeChanges(before, after));
  expect(objects.slice(1).map(({ name, revoked }) => [name, revoked])).toEqual([
    ["1.0.0.2", undefined],
    ["9.9.9.9", true],
  ]);
});
