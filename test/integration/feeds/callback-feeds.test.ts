import { writeKnownHost } from "@noisefloor/clickhouse/callbacks/known-hosts.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 3_600_000;
const WORKSPACE = "workspace-way-out";
let now = Date.now() - 6 * HOUR;
let world: World;
let key: string;

/** A visitor that tells a sensor to fetch from these hosts. */
const naming = (ip: string, at: number, hosts: readonly string[], members: object = {}) =>
  observation(ip, at, {
    ...{ tags: ["mirai"], transport: "tcp" },
    urls: hosts.map((host) => `http://${host}/bins.sh`),
    ...members,
  });

const start = now;
beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("mirai", "malicious")]);
  key = await world.addCaller("unlimited", undefined, WORKSPACE);
  const { rejected } = await world.store([
    naming("45.0.0.1", now - 2 * HOUR, ["45.9.0.1", "called.example.org"]),
    naming("45.0.0.2", now - HOUR, ["called.example.org", "raw.githubusercontent.com", "10.0.0.1", "printer.local"]),
    naming("45.0.0.3", now - HOUR, ["partner.example.org", "45.9.0.9"], { transport: "udp" }),
    naming("45.0.0.4", now - HOUR, ["other.example.org"], { tags: [] }),
    naming("45.0.0.5", now - 5 * 24 * HOUR, ["45.9.0.5"]),
  ]);
  expect(rejected).toEqual([]);
});
afterAll(() => world.close());

const put = (name: string, definition: object) =>
  world.app.inject({ method: "PUT", url: `/v3/feeds/${name}`, headers: { key }, payload: definition });
const read = async (path: string) => {
  const { statusCode, body, headers } = await world.app.inject({ url: `/v3/feeds/${path}`, headers: { key } });
  return { status: statusCode, body, cursor: String(headers["feed-cursor"]) };
};
const called = Buffer.from("called.example.org").toString("base64");

test("a feed of callbacks lists the addresses and names that visitors in contact named, and no known host of code", async () => {
  const made = await put("way-out", { of: "callbacks", query: "tags:mirai", days: 3 });
  expect(made.json()).toMatchObject({ of: "callbacks", ttl_hours: 72, count: 2, held_back: 1, guarded: 0 });
  expect((await read("way-out.txt")).body).toBe("45.9.0.1\ncalled.example.org\n");
  expect((await read("way-out.txt?kind=address")).body).toBe("45.9.0.1\n");
  expect((await read("way-out.ipset")).body.match(/^add .*/gm)).toEqual(["add way-out.new 45.9.0.1"]);
  expect((await read("way-out.iprep")).body).toBe("45.9.0.1/32,50,120\n");
  expect((await read("way-out.rpz")).body.split("\n").slice(3)).toEqual([
    "32.1.0.9.45.rpz-ip IN CNAME .",
    "called.example.org IN CNAME .",
    "*.called.example.org IN CNAME .",
    "",
  ]);
  expect((await read("way-out.hosts")).body).toBe("0.0.0.0 called.example.org\n:: called.example.org\n");
  expect((await read("way-out.dataset")).body).toBe(`${called}\n`);
  expect((await read("way-out.dataset?kind=address")).body).toBe("45.9.0.1\n");
  expect((await read("way-out.nft?hook=postrouting")).body).toContain("ip daddr @way_out drop\n");
  const first = new Date(Math.floor((start - 2 * HOUR) / 1_000) * 1_000).toISOString().replace(".000", "");
  expect((await read("way-out.ndjson")).body.split("\n").map((line) => (line === "" ? "" : JSON.parse(line)))).toEqual([
    expect.objectContaining({ host: "45.9.0.1", kind: "address", first_seen: first, last_seen: first, visitors: 1 }),
    expect.objectContaining({ host: "called.example.org", kind: "name", first_seen: first, visitors: 2, ports: [80] }),
    "",
  ]);
  expect((await read("way-out.csv")).body).toMatch(
    /^host,kind,first_seen,last_seen,visitors,ports,schemes\r\n45\.9\.0\.1,address,\S+,1,80,http\r\ncalled\./,
  );
  expect(JSON.parse((await read("way-out/addresses")).body)).toMatchObject({ count: 2, names: ["called.example.org"] });
  expect((await read("callbacks.txt")).body).toBe("45.9.0.1\ncalled.example.org\nother.example.org\n");
  await put("all", { query: "tags:mirai" });
  expect(await read("all.rules")).toMatchObject({ status: 400 });
  expect((await put("kept", { of: "callbacks", query: "tags:mirai", keep_fallen: true })).statusCode).toBe(400);
  expect((await put("limited", { of: "callbacks", query: "tags:mirai", days: 3, limit: 1 })).json()).toMatchObject({
    count: 1,
    truncated: true,
  });
  expect((await read("limited.txt")).body).toBe("called.example.org\n");
});

test("a host that becomes known, or is no longer named in time, leaves all forms of a feed of callbacks", async () => {
  await put("leaving", { of: "callbacks", query: "tags:mirai", days: 3 });
  const { cursor } = await read("leaving.txt");
  const { cursor: sameCursor } = await read("leaving.rpz");
  expect(sameCursor).toBe(cursor);
  const known = { workspaceId: WORKSPACE, host: "example.org", note: "ours", createdAt: now };
  await writeKnownHost(world.client, known, now);
  await world.refresh();
  now += 60_000;
  await world.store([naming("45.0.0.6", now, ["new.example.net"])]);
  now += 100_000;
  expect((await read(`leaving.txt?since=${cursor}`)).body).toBe("-called.example.org\n+new.example.net\n");
  expect(JSON.parse((await read(`leaving.json?since=${cursor}`)).body)).toMatchObject({
    count: 2,
    added: [{ host: "new.example.net" }],
    removed: [{ host: "called.example.org" }],
  });
  expect((await read("leaving.hosts")).body).toBe("0.0.0.0 new.example.net\n:: new.example.net\n");
  expect((await read("leaving")).body).toContain('"held_back":2');
});
