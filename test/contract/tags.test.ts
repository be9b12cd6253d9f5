import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const NOW = Date.now();
const worm = makeTag("great-worm", "malicious", { name: "Great Worm", cves: ["CVE-2026-0001"] });
const hunter = makeTag("hunter", "benign", {
  name: "Worm Hunter",
  references: ["https://example.org"],
  related: [worm.id],
});
let world: ServedWorld;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([worm, hunter]);
});
afterAll(() => world.close());

const related = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  intention: z.string(),
  category: z.string(),
  slug: z.string(),
});
const shape = z.strictObject({
  tags: z.array(
    z.strictObject({
      id: z.uuid(),
      label: z.string(),
      slug: z.string(),
      name: z.string(),
      category: z.string(),
      intention: z.enum(["benign", "unknown", "suspicious", "malicious"]),
      description: z.string(),
      references: z.array(z.string()),
      recommend_block: z.boolean(),
      cves: z.array(z.string()),
      created_at: z.iso.date(),
      related_tags: z.array(related),
    }),
  ),
});

async function ask(query: string) {
  const answer = await fetch(`${world.url}/v3/tags${query}`);
  expect(answer.status).toBe(200);
  return shape.parse(await answer.json()).tags;
}
const slugs = async (query: string) => (await ask(query)).map(({ slug }) => slug);

test("tags stand in an array under tags, each with its id as tag activity takes it, and its name", async () => {
  const tags = await ask("");
  expect(tags.map(({ slug }) => slug)).toEqual(["great-worm", "hunter"]);
  for (const { id } of tags) expect((await fetch(`${world.url}/v3/tags/${id}/activity`)).status).toBe(200);
});

test("related tags have the members that a client shows", async () => {
  const { id, name, intention, category, slug } = worm;
  expect((await ask("?slug=hunter"))[0]?.related_tags).toEqual([{ id, name, intention, category, slug }]);
});

test("the Python SDK's filters: part of the name and CVE in any case, the exact slug, combined with AND", async () => {
  expect(await slugs("?name=WORM")).toEqual(["great-worm", "hunter"]);
  expect(await slugs("?slug=great")).toEqual([]);
  expect(await slugs("?slug=great-worm")).toEqual(["great-worm"]);
  for (const cve of ["CVE-2026-0001", "cve-2026-0001"]) expect(await slugs(`?cve=${cve}`)).toEqual(["great-worm"]);
  expect(await slugs("?name=worm&cve=CVE-2026-0001&slug=hunter")).toEqual([]);
});

test("an empty filter is as if left out", async () => {
  for (const query of ["?slug=", "?cve=", "?name=", "?name=&slug=&cve=", "?slug&cve"]) {
    expect([query, await slugs(query)]).toEqual([query, ["great-worm", "hunter"]]);
  }
  expect(await slugs("?slug=&name=great")).toEqual(["great-worm"]);
});

test("a filter that nothing matches is an empty array, not an error", async () => {
  expect(await slugs("?name=nothing-like-it")).toEqual([]);
});
