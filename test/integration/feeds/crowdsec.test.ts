import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { openStreamPositions } from "@noisefloor/query/feeds/crowdsec/positions.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { seeded } from "../../support/builders/random.ts";
import { eventually } from "../../support/eventually.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 3_600_000;
let now = Date.now();
let world: World;
let key: string;

beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("mirai", "malicious")]);
  const seen = { established: true, tags: ["mirai"] };
  await world.store(["45.0.0.1", "45.0.0.2"].map((ip) => observation(ip, now - 60_000, seen)));
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

async function send(method: "GET" | "PUT" | "POST", url: string, headers: Record<string, string>, payload?: object) {
  const response = await world.app.inject({ method, url, headers, ...(payload && { payload }) });
  return { status: response.statusCode, body: z.unknown().parse(response.json()) };
}
async function makeToken(feed: string): Promise<string> {
  const { body } = await send("POST", `/v3/feeds/${feed}/tokens`, { key }, { label: "edge" });
  return z.object({ token: z.string() }).parse(body).token;
}
const put = (feed: string, query: string) => send("PUT", `/v3/feeds/${feed}`, { key }, { query });
const streamSchema = z.object({
  new: z.array(z.object({ value: z.string() })),
  deleted: z.array(z.object({ value: z.string() })),
});
async function poll(token: string, query = "startup=false") {
  const { body } = await send("GET", `/v1/decisions/stream?${query}`, { "x-api-key": token });
  const { new: started, deleted } = streamSchema.parse(body);
  return { started: started.map(({ value }) => value), deleted: deleted.map(({ value }) => value) };
}

test("a bouncer gets the whole list at its start, then what changed, and nothing twice", async () => {
  await put("edge", "ip:45.0.0.0/24");
  const token = await makeToken("edge");
  const first = await send("GET", "/v1/decisions/stream?startup=true", { "x-api-key": token });
  const decision = { origin: "noisefloor", scenario: "edge", scope: "Ip", type: "ban", duration: "24h0m0s" };
  expect(first).toEqual({
    status: 200,
    body: {
      new: [
        { id: 0x2d000001, value: "45.0.0.1", ...decision },
        { id: 0x2d000002, value: "45.0.0.2", ...decision },
      ],
      deleted: [],
    },
  });
  await eventually(async () => expect(await poll(token)).toEqual({ started: [], deleted: [] }));
  now += 1_000;
  await put("edge", "ip:45.0.0.2 OR ip:45.0.0.3");
  expect(await poll(token)).toEqual({ started: [], deleted: ["45.0.0.1"] });
  await eventually(async () => expect(await poll(token)).toEqual({ started: [], deleted: [] }));
});

test("a bouncer is told changes once, also after the clock was set back", async () => {
  await put("clock", "ip:45.0.0.1");
  const token = await makeToken("clock");
  await poll(token, "startup=true");
  await eventually(async () => expect(await poll(token)).toEqual({ started: [], deleted: [] }));
  now -= 5_000;
  await put("clock", "ip:45.0.0.2");
  expect(await poll(token)).toEqual({ started: ["45.0.0.2"], deleted: ["45.0.0.1"] });
  await eventually(async () => expect(await poll(token)).toEqual({ started: [], deleted: [] }));
  now += 5_000;
});

test("what a bouncer was told is known before it is stored, and answers that were cut off until one was sent whole", async () => {
  const errors: unknown[] = [];
  const positions = openStreamPositions(world.client, (error) => errors.push(error));
  const [one, two] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
  positions.offer("t", one);
  expect(await positions.read("t")).toEqual({ last: undefined, unsure: [one] });
  positions.confirm("t", { revision: one, answeredAt: now });
  expect(await positions.read("t")).toEqual({ last: { revision: one, answeredAt: now }, unsure: [] });
  positions.offer("t", two);
  expect(await positions.read("t")).toEqual({ last: { revision: one, answeredAt: now }, unsure: [two] });

  await world.client.command({ query: "RENAME TABLE feed_streams TO feed_streams_away" });
  positions.confirm("t", { revision: two, answeredAt: now + 1 });
  await eventually(async () => expect(errors).toHaveLength(1));
  await world.client.command({ query: "RENAME TABLE feed_streams_away TO feed_streams" });
  await positions.drain();
  const others = openStreamPositions(world.client, () => {});
  expect(await others.read("t")).toEqual({ last: { revision: two, answeredAt: now + 1 }, unsure: [] });
});

test("a bouncer that looks each visitor up may ask more often than one that reads the list", async () => {
  await put("visitors", "ip:45.0.0.1");
  const token = await makeToken("visitors");
  const statusOf = async (query: string) => (await send("GET", `/v1/decisions${query}`, { "x-api-key": token })).status;
  for (let round = 0; round < 61; round++) {
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf("?ip=45.0.0.1")));
    expect(statuses).toEqual(Array(10).fill(200));
  }
});

test("filters that leave the feed out answer with nothing, and looking an address up answers null", async () => {
  await put("edge-2", "tags:mirai");
  const token = await makeToken("edge-2");
  expect(await poll(token, "startup=true&scopes=country")).toEqual({ started: [], deleted: [] });
  expect((await poll(token, "startup=true&scopes=ip,range&scenarios_containing=edge")).started).toHaveLength(2);
  const ask = (query: string) => send("GET", `/v1/decisions?${query}`, { "x-api-key": token });
  expect((await ask("ip=45.0.0.2")).body).toMatchObject([{ value: "45.0.0.2", type: "ban" }]);
  expect(await ask("ip=45.0.0.77")).toEqual({ status: 200, body: null });
  expect(await ask("ip=2001:db8::1")).toEqual({ status: 200, body: null });
  expect((await ask("ip=nonsense")).status).toBe(400);
  expect((await send("POST", "/v1/usage-metrics", { "x-api-key": token }, { remediation_components: [] })).status).toBe(
    201,
  );
});

test("a token of a ready-made feed reads it, and without a valid token all is forbidden", async () => {
  const token = await makeToken("tag-mirai");
  expect((await poll(token, "startup=true")).started).toEqual(["45.0.0.1", "45.0.0.2"]);
  const headers: Record<string, string>[] = [
    {},
    { "x-api-key": "nff_wrong" },
    { "x-api-key": key },
    { "x-api-key": "" },
  ];
  for (const each of headers) {
    expect(await send("GET", "/v1/decisions/stream", each)).toEqual({
      status: 403,
      body: { message: "access forbidden" },
    });
  }
});

test("a bouncer that obeys every answer bans exactly the list, without a gap", { timeout: 240_000 }, async () => {
  const random = seeded(7);
  await put("model", "ip:46.0.0.0/16");
  const token = await makeToken("model");
  /** When each decision ends. */
  const bans = new Map<string, number>();
  const ips = Array.from({ length: 16 }, (_, index) => numberToIpv4(0x2e000001 + index));
  for (let round = 0; round < atVolume(4, 8); round++) {
    const seen = ips.filter(() => random.chance(0.3));
    await world.store(seen.map((ip) => observation(ip, now - 1_000)));
    const listed = random.shuffle(ips).slice(0, random.int(1, 12));
    await put("model", listed.map((ip) => `ip:${ip}`).join(" OR "));
    const { started, deleted } = await poll(token, `startup=${round === 0}`);
    // Many bouncers apply what is new first, and others what is deleted.
    expect(started.filter((ip) => deleted.includes(ip))).toEqual([]);
    for (const ip of deleted) bans.delete(ip);
    for (const ip of started) bans.set(ip, now + 24 * HOUR);
    const { body } = await world.app.inject({ url: "/v3/feeds/model.txt", headers: { key } });
    expect([...bans.keys()].sort()).toEqual(body.split("\n").slice(0, -1).sort());
    for (const [ip, end] of bans) expect(end - now, ip).toBeGreaterThan(11 * HOUR);
    await eventually(async () => expect(await poll(token)).toEqual({ started: [], deleted: [] }));
    now += random.pick([60_000, HOUR, 5 * HOUR, 11 * HOUR]);
  }
});

test("a health check, and a question about some addresses, take nothing from the bouncer", async () => {
  await put("checked", "ip:45.0.0.1");
  const token = await makeToken("checked");
  await poll(token, "startup=true");
  now += 1_000;
  await put("checked", "ip:45.0.0.1 OR ip:45.0.0.2");
  const head = () =>
    world.app.inject({
      method: "HEAD",
      url: "/v1/decisions/stream?startup=false",
      headers: { "x-api-key": token },
    });
  expect((await head()).statusCode).toBe(200);
  expect(await poll(token, "startup=false&ip=45.0.0.1")).toEqual({ started: [], deleted: [] });
  expect(await poll(token)).toEqual({ started: ["45.0.0.2"], deleted: [] });
});

test("an answer is never wider than what was asked for", async () => {
  await put("narrowed", "ip:45.0.0.1 OR ip:45.0.0.2");
  const token = await makeToken("narrowed");
  const ask = (query: string) => send("GET", `/v1/decisions?${query}`, { "x-api-key": token });
  const valuesOf = async (query: string) =>
    z
      .array(z.object({ value: z.string() }))
      .nullable()
      .parse((await ask(query)).body)
      ?.map(({ value }) => value);
  expect(await valuesOf("type=ban&limit=1000&offset=0&scopes=ip,range")).toEqual(["45.0.0.1", "45.0.0.2"]);
  expect(await valuesOf("limit=1&offset=1")).toEqual(["45.0.0.2"]);
  expect(await valuesOf("limit=1&offset=2")).toBeUndefined();
  expect(await valuesOf("ip=::ffff:45.0.0.2")).toEqual(["45.0.0.2"]);
  expect(await valuesOf("range=45.0.0.0/31&contains=false")).toEqual(["45.0.0.1"]);
  expect(await ask("scope=Country&value=FR")).toEqual({ status: 200, body: null });
  for (const query of ["ip=", "scenario=ssh", "cidr=45.0.0.0/31", "ip=45.0.0.1&ip=45.0.0.2"]) {
    expect((await ask(query)).status, query).toBe(400);
    const stream = `/v1/decisions/stream?startup=true&${query}`;
    expect((await send("GET", stream, { "x-api-key": token })).status, query).toBe(400);
  }
});
