import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let now = Math.floor(Date.now() / 1_000) * 1_000;
const began = now;
let world: World;
let key: string;

beforeAll(async () => {
  world = await createWorld(() => now);
  await world.store(["45.0.0.1", "45.0.0.2"].map((ip) => observation(ip, began - 60_000)));
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

async function put(query: string): Promise<string> {
  now += 1_000;
  const options = { method: "PUT", url: "/v3/feeds/edge", headers: { key }, payload: { query } } as const;
  return z.object({ id: z.string() }).parse((await world.app.inject(options)).json()).id;
}
async function ask(file: string, headers: Record<string, string> = {}) {
  const {
    statusCode: status,
    headers: fields,
    body,
  } = await world.app.inject({
    url: `/v3/feeds/edge/misp/${file}`,
    headers: { key, ...headers },
  });
  return { status, etag: String(fields.etag), body };
}
const eventSchema = z.object({
  Event: z.looseObject({ timestamp: z.string(), Attribute: z.array(z.looseObject({})) }),
});
const readEvent = async (id: string) => eventSchema.parse(JSON.parse((await ask(`${id}.json`)).body)).Event;

test("a MISP feed has one event, whose timestamp moves exactly when its addresses do", async () => {
  const id = await put("ip:45.0.0.0/24");
  const manifest = await ask("manifest.json");
  const event = await readEvent(id);
  expect(JSON.parse(manifest.body)).toEqual({
    [id]: {
      info: "Noisefloor: edge",
      date: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
      analysis: "2",
      threat_level_id: "2",
      timestamp: String(now / 1_000),
      Orgc: { name: "Noisefloor", uuid: expect.any(String) },
      Tag: [],
    },
  });
  const attribute = {
    type: "ip-src",
    category: "Network activity",
    to_ids: true,
    timestamp: String(now / 1_000),
    first_seen: new Date(began - 60_000).toISOString().replace(".000", ""),
    last_seen: new Date(began - 60_000).toISOString().replace(".000", ""),
  };
  expect(event).toMatchObject({ uuid: id, published: true, timestamp: String(now / 1_000) });
  expect(event.Attribute).toMatchObject([
    { value: "45.0.0.1", ...attribute },
    { value: "45.0.0.2", ...attribute },
  ]);
  const hash = (ip: string) => `${createHash("md5").update(ip).digest("hex")},${id}\n`;
  expect((await ask("hashes.csv")).body).toBe(hash("45.0.0.1") + hash("45.0.0.2"));

  now += 60_000;
  for (const file of ["manifest.json", `${id}.json`, "hashes.csv"]) {
    const { etag } = await ask(file);
    expect((await ask(file, { "if-none-match": etag })).status, file).toBe(304);
  }
  expect(await readEvent(id)).toEqual(event);
  await put("ip:45.0.0.2");
  expect((await ask("manifest.json", { "if-none-match": manifest.etag })).status).toBe(200);
  const changed = await readEvent(id);
  expect(changed.timestamp).toBe(String(now / 1_000));
  expect(changed.Attribute).toEqual([
    { ...event.Attribute[0], to_ids: false, deleted: true, timestamp: String(now / 1_000) },
    event.Attribute[1],
  ]);
  expect((await ask("hashes.csv")).body).toBe(hash("45.0.0.2"));
});

test("an event with other content has another timestamp, within a second, too, and a description changes nothing", async () => {
  const definition = { url: "/v3/feeds/quick", method: "PUT", headers: { key } } as const;
  const define = (payload: object) => world.app.inject({ ...definition, payload });
  const read = async () => {
    const manifest = (await world.app.inject({ url: "/v3/feeds/quick/misp/manifest.json", headers: { key } })).json();
    const heads = z.record(z.string(), z.object({ timestamp: z.string() })).parse(manifest);
    const [id = "", head] = Object.entries(heads).at(0) ?? [];
    return {
      timestamp: Number(head?.timestamp),
      event: (await world.app.inject({ url: `/v3/feeds/quick/misp/${id}.json`, headers: { key } })).body,
    };
  };
  const states = [];
  for (const query of ["ip:45.0.0.99", "ip:45.0.0.1", "ip:45.0.0.2", "ip:45.0.0.0/24"]) {
    now += 1;
    await define({ query });
    states.push(await read());
  }
  const times = states.map(({ timestamp }) => timestamp);
  expect(new Set(times).size).toBe(states.length);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  now += 1_000;
  await define({ query: "ip:45.0.0.0/24", description: "Mirrors of the edge" });
  expect(await read()).toEqual(states.at(-1));
});

test("MISP, which puts /manifest.json behind a URL that ends in a slash, gets it", async () => {
  const id = await put("ip:45.0.0.2");
  for (const file of ["manifest.json", `${id}.json`, "hashes.csv"]) {
    expect(await ask(`/${file}`), file).toEqual(await ask(file));
  }
});

test("a file that a MISP feed does not have is a 404 that lists those it has", async () => {
  await put("ip:45.0.0.2");
  for (const file of ["event.json", "constructor", "__proto__"]) {
    const { status, body } = await ask(file);
    expect([status, body], file).toEqual([404, expect.stringMatching(/manifest\.json, hashes\.csv/)]);
  }
});
