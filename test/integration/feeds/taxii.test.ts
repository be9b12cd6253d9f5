import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const ROOT = "/taxii2/root/";
const TYPE = "application/taxii+json;version=2.1";
let now = Date.now();
let world: World;
let key: string;
const ips = Array.from({ length: 7 }, (_, index) => `45.0.0.${index + 1}`);

beforeAll(async () => {
  world = await createWorld(() => now);
  await world.store(ips.map((ip) => observation(ip, now - 60_000)));
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

async function ask(path: string, headers: Record<string, string> = { key }) {
  const { statusCode: status, headers: fields, ...response } = await world.app.inject({ url: path, headers });
  return { status, fields, body: z.unknown().parse(response.json()) };
}
async function put(name: string, query: string): Promise<string> {
  now += 1_000;
  const response = await world.app.inject({
    method: "PUT",
    url: `/v3/feeds/${name}`,
    headers: { key },
    payload: { query },
  });
  return z.object({ id: z.string() }).parse(response.json()).id;
}
const pageSchema = z.object({
  more: z.boolean(),
  next: z.string().optional(),
  objects: z
    .array(z.object({ type: z.string(), id: z.string(), name: z.string(), revoked: z.boolean().optional() }))
    .default([]),
});
async function readPage(path: string) {
  const { status, body, fields } = await ask(path);
  expect([status, fields["content-type"]]).toEqual([200, TYPE]);
  const { more, next, objects } = pageSchema.parse(body);
  const last = String(fields["x-taxii-date-added-last"]);
  return { more, next, last, names: objects.map(({ name, revoked }) => (revoked ? `-${name}` : name)), objects };
}

test("a platform finds the API root, and the feeds that it may read as collections", async () => {
  const id = await put("first", "ip:45.0.0.0/24");
  const discovery = await ask("/taxii2/");
  expect(discovery.body).toMatchObject({ default: expect.stringMatching(/^https?:.*\/taxii2\/root\/$/) });
  expect(discovery.fields["content-type"]).toBe(TYPE);
  expect((await ask(ROOT)).body).toMatchObject({ versions: [TYPE] });
  const { body } = await ask(`${ROOT}collections/`);
  const { collections } = z.object({ collections: z.array(z.looseObject({ title: z.string() })) }).parse(body);
  expect(collections.map(({ title }) => title)).toEqual(["first", "recent", "persistent", "callbacks"]);
  expect(collections[0]).toEqual((await ask(`${ROOT}collections/${id}/`)).body);
  expect(collections[0]).toMatchObject({ id, can_read: true, can_write: false });
  const made = await world.app.inject({
    method: "POST",
    url: "/v3/feeds/first/tokens",
    headers: { key },
    payload: { label: "taxii" },
  });
  const { token } = z.object({ token: z.string() }).parse(made.json());
  const basic = { authorization: `Basic ${Buffer.from(`taxii:${token}`).toString("base64")}` };
  expect((await ask(`${ROOT}collections/`, basic)).body).toMatchObject({ collections: [{ id }] });
});

test("pages are full, the next is the same when it is asked again, and what is newer follows", async () => {
  const id = await put("pages", "ip:45.0.0.0/24");
  const objects = `${ROOT}collections/${id}/objects/`;
  const first = await readPage(`${objects}?limit=3`);
  expect([first.names, first.more]).toEqual([["Noisefloor", "45.0.0.1", "45.0.0.2"], true]);
  const second = await readPage(`${objects}?limit=3&next=${first.next}`);
  expect(second.names).toEqual(["45.0.0.3", "45.0.0.4", "45.0.0.5"]);
  expect(await readPage(`${objects}?limit=3&next=${first.next}`)).toEqual(second);
  const rest = await readPage(`${objects}?next=${second.next}`);
  expect([rest.names, rest.more, rest.next]).toEqual([["45.0.0.6", "45.0.0.7"], false, undefined]);
  expect(await readPage(`${objects}?added_after=${rest.last}`)).toMatchObject({ names: [], last: rest.last });

  await put("pages", "ip:45.0.0.0/24 -ip:45.0.0.2");
  expect((await readPage(`${objects}?added_after=9999-12-31T23:59:59Z`)).names).toEqual([]);
  const old = await readPage(`${objects}?added_after=1066-10-14T09:00:00Z&limit=2`);
  expect([old.names, (await readPage(`${objects}?next=${old.next}`)).more]).toEqual([
    ["Noisefloor", "45.0.0.1"],
    false,
  ]);
  const changed = await readPage(`${objects}?added_after=${rest.last}`);
  expect(changed.names).toEqual(["-45.0.0.2"]);
  // A consumer that begins now never had it; one in the middle of the pages may have.
  expect((await readPage(objects)).names).toEqual(["Noisefloor", ...ips.filter((ip) => ip !== "45.0.0.2")]);
  expect((await readPage(`${objects}?next=${second.next}`)).names).toEqual(["45.0.0.6", "45.0.0.7", "-45.0.0.2"]);
  await put("pages", "ip:45.0.0.0/24");
  expect((await readPage(`${objects}?added_after=${changed.last}`)).names).toEqual(["45.0.0.2"]);
});

test("filters choose before pages are filled, and a manifest says the same as the objects", async () => {
  const id = await put("filters", "ip:45.0.0.0/24");
  const collection = `${ROOT}collections/${id}/`;
  const { objects } = await readPage(`${collection}objects/?match[type]=indicator&limit=5`);
  expect(objects.map(({ type }) => type)).toEqual(Array(5).fill("indicator"));
  const [one] = objects;
  if (one === undefined) throw new Error("a page has objects");
  expect((await readPage(`${collection}objects/?match[id]=${one.id},identity--x`)).names).toEqual([one.name]);
  expect((await readPage(`${collection}objects/${one.id}/`)).names).toEqual([one.name]);
  expect((await ask(`${collection}objects/indicator--3ae0b0a2-7289-5fda-8a85-02d057ba0968/`)).status).toBe(404);
  expect((await readPage(`${collection}objects/?match[spec_version]=2.0`)).names).toEqual([]);
  expect((await readPage(`${collection}objects/?match[version]=first,2020-01-01T00:00:00Z`)).names).toHaveLength(8);
  expect((await readPage(`${collection}objects/?match[version]=2020-01-01T00:00:00Z`)).names).toEqual([]);
  const manifest = await ask(`${collection}manifest/`);
  const all = z.object({ objects: z.array(z.object({ id: z.string(), modified: z.string() })) });
  const versions = z.object({ objects: z.array(z.object({ id: z.string(), version: z.string() })) });
  expect(versions.parse(manifest.body).objects).toEqual(
    all.parse((await ask(`${collection}objects/`)).body).objects.map(({ id, modified }) => ({ id, version: modified })),
  );
});

test("an empty next is a first page, and beside a next added_after says nothing", async () => {
  const id = await put("next", "ip:45.0.0.0/24");
  const objects = `${ROOT}collections/${id}/objects/`;
  expect((await readPage(`${objects}?next=`)).names).toEqual(["Noisefloor", ...ips]);
  const { next } = await readPage(`${objects}?limit=1&match[type]=indicator`);
  await put("next", "ip:45.0.0.77");
  const { names, last } = await readPage(`${objects}?next=${next}&added_after=%0Ayesterday&match[version]=x`);
  expect(names).toEqual(ips.map((ip) => `-${ip}`));
  expect(last).toMatch(/^\d{4}-.*Z$/);
  const { last: end } = await readPage(`${objects}?added_after=2099-01-01T00:00:00Z`);
  const far = Buffer.from(
    Buffer.from(String(next), "base64url")
      .toString()
      .replace(/"modifiedAt":\d+/, `"modifiedAt":${Date.parse(end)}`),
  );
  expect((await readPage(`${objects}?next=${far.toString("base64url")}&added_after=%0A`)).names).toEqual([]);
});

test("a limit above the server's is cut to it", async () => {
  const id = await put("limit", "ip:45.0.0.0/24");
  for (const limit of ["1001", "5000", "9".repeat(30)]) {
    expect((await readPage(`${ROOT}collections/${id}/objects/?limit=${limit}`)).names, limit).toHaveLength(8);
  }
});

test("the next of one collection begins another one where the client began the first one", async () => {
  const [one, other] = [await put("one", "ip:45.0.0.0/24"), await put("other", "ip:45.0.0.0/24")];
  const objectsOf = (id: string) => `${ROOT}collections/${id}/objects/`;
  const all = await readPage(objectsOf(other));
  const first = await readPage(`${objectsOf(one)}?limit=5`);
  expect((await readPage(`${objectsOf(other)}?limit=1000&next=${first.next}`)).names).toEqual(all.names);
  expect((await readPage(`${objectsOf(other)}?next=${first.next}&added_after=${all.last}`)).names).toEqual([]);
  const later = await readPage(`${objectsOf(one)}?limit=5&added_after=2020-01-01T00:00:00Z`);
  const changed = await put("other", "ip:45.0.0.0/24 -ip:45.0.0.2");
  expect((await readPage(`${objectsOf(changed)}?next=${later.next}`)).names).toEqual([
    "Noisefloor",
    ...ips.filter((ip) => ip !== "45.0.0.2"),
    "-45.0.0.2",
  ]);
  const newer = await readPage(`${objectsOf(one)}?limit=1&added_after=${new Date(now - 86_400_000).toISOString()}`);
  expect((await readPage(`${objectsOf(other)}?limit=3&next=${newer.next}`)).names).toEqual(
    ips.filter((ip) => ip !== "45.0.0.2").slice(0, 3),
  );
});

test("wrong requests are told what is wrong", async () => {
  const id = await put("wrong", "ip:45.0.0.0/24");
  const objects = `${ROOT}collections/${id}/objects/`;
  const statusOf = async (path: string, headers?: Record<string, string>) => (await ask(path, headers)).status;
  expect(await statusOf("/taxii2/", {})).toBe(401);
  expect(await statusOf("/taxii2/", { key, accept: "application/json" })).toBe(406);
  expect(await statusOf("/taxii2/", { key, accept: "application/taxii+json;version=2.0" })).toBe(406);
  for (const accept of [TYPE, "*/*", "text/html, application/taxii+json; version=2.1;q=0.9"]) {
    expect(await statusOf("/taxii2/", { key, accept }), accept).toBe(200);
  }
  expect(await statusOf(`${ROOT}collections/5b7f2f5e-8a4e-4d2b-9c59-1f6c2a3b4d5e/objects/`)).toBe(404);
  for (const query of ["next=x", "next=e30", "limit=0", "limit=-1", "added_after=yesterday", "match[version]=x"]) {
    expect(await statusOf(`${objects}?${query}`), query).toBe(400);
  }
});

test("the stix form of a feed has its objects, and with since what changed and what is gone", async () => {
  await put("bundle", "ip:45.0.0.1 OR ip:45.0.0.2");
  const bundleSchema = z.object({ objects: z.array(z.object({ name: z.string(), revoked: z.boolean().optional() })) });
  const first = await ask("/v3/feeds/bundle.stix");
  expect(bundleSchema.parse(first.body).objects.map(({ name }) => name)).toEqual([
    "Noisefloor",
    "45.0.0.1",
    "45.0.0.2",
  ]);
  await put("bundle", "ip:45.0.0.2 OR ip:45.0.0.3");
  const { body } = await ask(`/v3/feeds/bundle.stix?since=${String(first.fields["feed-cursor"])}`);
  const { objects } = bundleSchema.parse(body);
  expect(objects.map(({ name, revoked }) => [name, revoked ?? false])).toEqual([
    ["Noisefloor", false],
    ["45.0.0.1", true],
    ["45.0.0.3", false],
  ]);
});
