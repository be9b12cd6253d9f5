import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRuleTagger } from "@noisefloor/cli/tags/rule-tagger.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { readSettings } from "@noisefloor/config/settings.ts";
import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";
import { tagIdFromSlug } from "@noisefloor/domain/tags/tag.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { assignTags } from "@noisefloor/ingest/tagging/assign-tags.ts";
import type { OpenTagger } from "@noisefloor/ingest/tagging/open-tagger.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { freshKafka, ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp, silent } from "../../support/worlds/http.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
let world: World;
let app: FastifyInstance;
let tagger: OpenTagger;
let folder: string;

const ruleText = (slug: string, path: string, more = "") => `
slug: ${slug}
name: ${slug}
category: activity
intention: malicious
description: A test.
match: {path: ${path}}
examples: [{path: ${path}}]
counterexamples: [{path: /other}]
${more}
`;

beforeAll(async () => {
  world = await createWorld(now);
  await world.addTags([makeTag("named-by-sender", "unknown")]);
  folder = await mkdtemp(join(tmpdir(), "noisefloor-rules-"));
  await mkdir(join(folder, "web"));
  await writeFile(join(folder, "panel.yaml"), ruleText("panel", "/panel"));
  await writeFile(join(folder, "web", "shell.yaml"), ruleText("shell", "'*shell*'"));
  const settings = readSettings({ TAG_RULES_DIR: folder });
  tagger = await openRuleTagger({ settings, log: silent }, world.client, world.catalogue);
  const ingest = await ingestOf(world, undefined, now, [], createMetrics(), () => RETENTION_DAYS, { rows: rowsOf() });
  app = await makeApp(INGEST_OPERATIONS, ingest.register);
});
afterAll(async () => {
  await app.close();
  tagger.stop();
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const rowsOf = () => ({
  assignTags: (observation: WireObservation, tagIds: readonly string[]) =>
    assignTags(observation, tagIds, world.catalogue, tagger),
});

const storedTags = defineQuery({
  name: "test-stored-tags",
  sql: `SELECT arrayMap(x -> toString(x), tags) AS tags, arrayMap(x -> toString(x), rule_tags) AS rule_tags
    FROM observations FINAL WHERE source_ip = {ip:IPv4}`,
  params: z.object({ ip: z.string() }),
  row: z.object({ tags: z.array(z.string()), rule_tags: z.array(z.string()) }),
});
const storedFor = async (ip: string) => (await run(world.client, storedTags, { ip }))[0];

const post = (ip: string, more: Record<string, unknown>) =>
  app.inject({ method: "POST", url: "/v1/observations", payload: [observation(ip, NOW - 1_000, more)] });

const slugOf = (slug: string) => world.catalogue.resolve(slug)?.id;

test("an observation is stored with the tags of the rules that it matches, beside those that its sender named", async () => {
  const answer = await post("45.7.0.1", { tags: ["named-by-sender"], http: { path: "/Panel" } });
  expect(answer.json()).toMatchObject({ accepted: 1 });
  expect(await storedFor("45.7.0.1")).toEqual({
    tags: [slugOf("named-by-sender"), tagIdFromSlug("panel")],
    rule_tags: [tagIdFromSlug("panel")],
  });
  await world.refresh();
  expect(await world.get("/v3/ip/45.7.0.1")).toMatchObject({ status: 200 });
});

test("a tag that sender and rule name is stored once, and as one that a rule gave", async () => {
  await post("45.7.0.2", { tags: ["panel"], http: { path: "/panel" } });
  expect(await storedFor("45.7.0.2")).toEqual({ tags: [tagIdFromSlug("panel")], rule_tags: [tagIdFromSlug("panel")] });
});

test("an observation that no rule matches has its sender's tags only", async () => {
  await post("45.7.0.3", { tags: ["named-by-sender"], http: { path: "/nothing" } });
  expect(await storedFor("45.7.0.3")).toEqual({ tags: [slugOf("named-by-sender")], rule_tags: [] });
});

test("the tag of a new rule enters the catalogue, and a change of what its file says shows there", async () => {
  await writeFile(join(folder, "late.yaml"), ruleText("late", "/late", "cves: [CVE-2026-10001]"));
  await eventually(async () => expect(tagger.tagsFor({ http: { path: "/late" } })).toEqual(["late"]));
  await post("45.7.0.4", { http: { path: "/late" } });
  expect(await storedFor("45.7.0.4")).toMatchObject({ rule_tags: [tagIdFromSlug("late")] });
  await writeFile(join(folder, "late.yaml"), ruleText("late", "/later", "cves: [CVE-2026-10002]"));
  await eventually(async () => expect(tagger.tagsFor({ http: { path: "/later" } })).toEqual(["late"]));
  expect((await tagRecords.read(world.client)).find(({ slug }) => slug === "late")?.cves).toEqual(["CVE-2026-10002"]);
});

test("what the rule of a tag matches can be read, as it is now, and none of a tag without a rule", async () => {
  const ruleOf = async (slug: string) => (await world.get(`/v3/noise/tags/${slug}/rule`)).body;
  expect(await ruleOf("panel")).toEqual({ slug: "panel", rule: "path: /panel\n" });
  expect(await ruleOf(tagIdFromSlug("panel"))).toEqual({ slug: "panel", rule: "path: /panel\n" });
  // Of the starter catalogue.
  expect(await ruleOf("commercial-web-scanner")).toMatchObject({
    rule: expect.stringMatching(/Acunetix[\s\S]*Nessus/),
  });
  expect(await ruleOf("named-by-sender")).toEqual({ slug: "named-by-sender", rule: "" });

  const values = Array.from({ length: 1_900 }, (_, index) => `/one-of-very-many-paths-${index}`);
  await writeFile(join(folder, "panel.yaml"), ruleText("panel", "/panel-2"));
  await writeFile(
    join(folder, "late.yaml"),
    ruleText("late", `[/late, ${values.join(", ")}]`).replace(/^examples: .*/m, "examples: [{path: /late}]"),
  );
  await eventually(async () => expect(await ruleOf("panel")).toEqual({ slug: "panel", rule: "path: /panel-2\n" }));
  const cut = z.object({ rule: z.string() }).parse(await ruleOf("late")).rule;
  expect(cut).toMatch(/^path:\n {2}- \/late\n[\s\S]*\n# and \d+ more characters\n$/);
  expect(cut.length).toBeLessThan(33_000);
  await rm(join(folder, "late.yaml"));
  await eventually(async () => expect(await ruleOf("late")).toEqual({ slug: "late", rule: "" }));

  expect(await world.get("/v3/noise/tags/unheard-of/rule")).toMatchObject({ status: 404 });
  expect(await world.get("/v3/noise/tags/Not%20a%20slug/rule")).toMatchObject({ status: 400 });
});

test("observations of the topic get the tags of rules as well", async () => {
  const kafka = await freshKafka();
  const ingest = await ingestOf(world, kafka, now, [], createMetrics(), () => RETENTION_DAYS, { rows: rowsOf() });
  const durable = await makeApp(INGEST_OPERATIONS, ingest.register);
  await ingest.start();
  const payload = [observation("45.7.0.5", NOW - 1_000, { http: { path: "/x/a-shell.txt" } })];
  await durable.inject({ method: "POST", url: "/v1/observations", payload });
  await eventually(async () =>
    expect(await storedFor("45.7.0.5")).toEqual({
      tags: [tagIdFromSlug("shell")],
      rule_tags: [tagIdFromSlug("shell")],
    }),
  );
  await durable.close();
  await ingest.stop();
});
