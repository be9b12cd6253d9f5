import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const NOW = Date.now();
const grown = makeTag("grown", "malicious", { cves: ["CVE-2026-0001"] });
const silent = makeTag("silent", "unknown");
const steady = makeTag("steady", "benign");
const worm = makeTag("great-worm", "malicious", { name: "Great Worm", cves: ["CVE-2026-0002"] });
const hunter = makeTag("hunter", "benign", { name: "Worm Hunter", related: [worm.id] });
let world: ServedWorld;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([grown, silent, steady, worm, hunter]);
  const observe = (tag: string, addresses: number, hoursAgo: number) =>
    Array.from({ length: addresses }, (_, index) => ({
      observed_at: new Date(NOW - hoursAgo * HOUR).toISOString(),
      sensor_id: "s",
      source_ip: `45.0.0.${index}`,
      tags: [tag],
    }));
  await world.store([
    ...observe("grown", 5, 1),
    ...observe("grown", 2, 30),
    ...observe("silent", 9, 30),
    ...observe("steady", 7, 1),
    ...observe("steady", 7, 30),
    // Before both windows, so that they can be compared.
    ...observe("steady", 1, 60),
  ]);
});
afterAll(() => world.close());

/** What the MCP server's tool reads of both lists. */
const clientShape = z.object({
  tags: z.array(
    z.object({
      name: z.string(),
      slug: z.string(),
      category: z.string(),
      intention: z.string(),
      cves: z.array(z.string()),
      created_at: z.string(),
      score: z.number(),
    }),
  ),
});

const compared = z.object({
  tags: z.array(z.object({ slug: z.string(), score: z.number(), previous_ips: z.int().optional() })),
  metadata: z.object({ stored_from: z.string(), previous_start_date: z.string() }),
});

async function ask(query: string) {
  const answer = await fetch(`${world.url}/v3/summary/tags${query}`);
  expect(answer.status).toBe(200);
  return clientShape.parse(await answer.json()).tags.map(({ slug, score }) => [slug, score]);
}

test("trending lists tags by the addresses that they gained, as clients read them", async () => {
  const trending = [
    ["grown", 3],
    ["steady", 0],
  ];
  expect(await ask("?sort=trending")).toEqual(trending);
  expect(await ask("")).toEqual(trending);
  expect(await ask("?sort=trending&limit=1")).toEqual(trending.slice(0, 1));
});

test("a change against days before the first observation is not known, and none is made up", async () => {
  const key = await world.addCaller("unlimited");
  const asked = async (query: string) => {
    const answer = await fetch(`${world.url}/v3/summary/tags?${query}`, { headers: { key } });
    return compared.parse(await answer.json());
  };
  const day = await asked("sort=active&days=1");
  expect(day.tags.map(({ previous_ips: before }) => before)).toEqual([7, 2]);
  expect(day.metadata.stored_from <= day.metadata.previous_start_date).toBe(true);

  // Some observations are of the two days before, the first of them a day and a half after these begin.
  const days = await asked("sort=active&days=2");
  expect(days.metadata.stored_from > days.metadata.previous_start_date).toBe(true);
  expect(days.tags.map((tag) => [tag.slug, "previous_ips" in tag])).toEqual([
    ["silent", false],
    ["steady", false],
    ["grown", false],
  ]);
  expect((await asked("sort=anomalies&days=2")).tags).toEqual([]);
  expect((await asked("sort=trending&days=2")).tags.map(({ score }) => score)).toEqual([0, 0, 0]);
});

test.each([
  ["sort=newest", "sort takes trending, anomalies, active"],
  ["days=8", "days takes a whole number from 1 to 7"],
  ["limit=0", "limit takes a whole number from 1 to 1000"],
  ["sort=active&sort=active", "sort was given more than once"],
])("%s is 400", async (query, message) => {
  const answer = await fetch(`${world.url}/v3/summary/tags?${query}`);
  expect([answer.status, await answer.json()]).toEqual([400, { message: `Invalid parameter: ${message}` }]);
});

/** As {@link World.get} checks it against the description. */
async function listTags(query: string) {
  const { status, body } = await world.get(`/v3/tags${query}`);
  expect(status).toBe(200);
  return z.object({ tags: z.array(z.looseObject({ id: z.string(), slug: z.string() })) }).parse(body).tags;
}
const slugs = async (query: string) => (await listTags(query)).map(({ slug }) => slug);
const ALL = ["great-worm", "grown", "hunter", "silent", "steady"];

test("tags stand in an array under tags, each with its id as tag activity takes it, and its name", async () => {
  const tags = await listTags("");
  expect(tags.map(({ slug }) => slug)).toEqual(ALL);
  for (const { id } of tags) expect((await fetch(`${world.url}/v3/tags/${id}/activity`)).status).toBe(200);
});

test("related tags have the members that a client shows", async () => {
  const { id, name, intention, category, slug } = worm;
  expect((await listTags("?slug=hunter"))[0]?.related_tags).toEqual([{ id, name, intention, category, slug }]);
});

test("the Python SDK's filters: part of the name and CVE in any case, the exact slug, combined with AND", async () => {
  expect(await slugs("?name=WORM")).toEqual(["great-worm", "hunter"]);
  expect(await slugs("?slug=great")).toEqual([]);
  expect(await slugs("?slug=great-worm")).toEqual(["great-worm"]);
  for (const cve of ["CVE-2026-0002", "cve-2026-0002"]) expect(await slugs(`?cve=${cve}`)).toEqual(["great-worm"]);
  expect(await slugs("?name=worm&cve=CVE-2026-0002&slug=hunter")).toEqual([]);
  expect(await slugs("?name=nothing-like-it")).toEqual([]);
});

test("an empty filter is as if left out", async () => {
  for (const query of ["?slug=", "?cve=", "?name=", "?name=&slug=&cve=", "?slug&cve"]) {
    expect([query, await slugs(query)]).toEqual([query, ALL]);
  }
  expect(await slugs("?slug=&name=great")).toEqual(["great-worm"]);
});
