import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { failOnHeaderFaults } from "../../support/oracle/answer-headers.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

let now = Date.now();
let world: World;
let key: string;
failOnHeaderFaults();

beforeAll(async () => {
  world = await createWorld(() => now, { ownAddresses: ["45.0.0.9"] });
  await world.addTags([makeTag("mirai", "malicious")]);
  await world.store(
    ["45.0.0.1", "45.0.0.2", "45.0.0.3", "45.0.0.9", "45.0.1.1"].map((ip) =>
      observation(ip, now - 60_000, { tags: ["mirai"] }),
    ),
  );
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

const send = async (method: "GET" | "PUT" | "POST", path: string, payload?: object, as = key) => {
  const sent = { method, url: path, headers: { key: as }, ...(payload && { payload }) };
  const response = await world.app.inject(sent);
  return { status: response.statusCode, ...response.json() };
};

test("what the guard holds back of a feed is listed with the reason of each address", async () => {
  await send("PUT", "/v3/feeds/held", { query: "tags:mirai" });
  now += 1_000;
  await send("POST", "/v3/guard", { network: "45.0.1.0/24", note: "a partner" });
  const feed = await send("GET", "/v3/feeds/held");
  const own = { ip: "45.0.0.9", reason: "own_address", name: "", network: "", note: "", attacked: false };
  const network = {
    ip: "45.0.1.1",
    reason: "network",
    name: "",
    network: "45.0.1.0/24",
    note: "a partner",
    attacked: false,
  };
  const held = await send("GET", "/v3/feeds/held/guarded");
  expect(held).toEqual({ status: 200, count: 2, addresses: [own, network] });
  expect(held.count).toBe(feed.guarded);
  await send("PUT", "/v3/feeds/held", { query: "ip:45.0.1.1" });
  expect(await send("GET", "/v3/feeds/held/guarded")).toEqual({ status: 200, count: 1, addresses: [network] });
  await send("PUT", "/v3/feeds/held", { query: "tags:mirai", guard: false });
  expect(await send("GET", "/v3/feeds/held/guarded")).toEqual({ status: 200, count: 0, addresses: [] });
  expect(await send("GET", "/v3/feeds/unknown/guarded")).toMatchObject({ status: 404 });
  const { token } = await send("POST", "/v3/feeds/held/tokens", { label: "edge" });
  expect(await send("GET", "/v3/feeds/held/guarded", undefined, token)).toMatchObject({ status: 401 });
  await send("PUT", "/v3/feeds/held", { query: "tags:mirai", enabled: false });
  expect(await send("GET", "/v3/feeds/held/guarded")).toMatchObject({ status: 410 });
});

test("the history of a feed has each of its lists, with what came and left", async () => {
  const sizes = [];
  for (const query of ["ip:45.0.0.1", "ip:45.0.0.1 OR ip:45.0.0.2", "ip:45.0.0.1 OR ip:45.0.0.2", "ip:45.0.0.3"]) {
    now += 1_000;
    const { cursor, count } = await send("PUT", "/v3/feeds/grown", { query });
    sizes.unshift([cursor, count]);
  }
  const { token } = await send("POST", "/v3/feeds/grown/tokens", { label: "edge" });
  const { revisions } = await send("GET", "/v3/feeds/grown/history", undefined, token);
  // The third definition found the list of the second.
  const [last, , second, first] = sizes;
  const listed = revisions.map(({ cursor, count }: { cursor: string; count: number }) => [cursor, count]);
  expect(listed).toEqual([last, second, first]);
  const changes = revisions.map(({ added, removed }: { added: number; removed: number }) => [added, removed]);
  expect(changes).toEqual([
    [1, 2],
    [1, 0],
    [1, 0],
  ]);
  const times = revisions.map(({ refreshed_at }: { refreshed_at: string }) => refreshed_at);
  expect(times).toEqual(times.toSorted().toReversed());
  expect(await send("GET", "/v3/feeds/unknown/history")).toMatchObject({ status: 404 });
});
