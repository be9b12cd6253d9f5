import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const DAY = 24 * 60 * 60 * 1000;
const now = Date.now();
let world: World;

beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("mirai", "malicious", { cves: ["CVE-2024-3094"] }), makeTag("formula", "unknown")]);
  const mirai = { destination_port: 23, transport: "tcp", tags: ["mirai"] };
  await world.store([
    observation("45.0.0.1", now - 60_000, {
      ...mirai,
      tags: ["mirai", "formula"],
      country: "DE",
      asn: 64_500,
      organization: `=cmd|' /C calc'!A0, "Ltd"`,
      http: { method: "GET", path: "/a" },
    }),
    observation("45.0.0.2", now - 5 * DAY, mirai),
    observation("45.0.0.3", now - 20 * DAY, { destination_port: 22, transport: "tcp" }),
    observation("45.0.0.3", now - 40 * DAY, mirai),
  ]);
});
afterAll(() => world.close());

const ask = (path: string, parameters: Record<string, string>, headers?: Record<string, string>) =>
  world.get(`/v3/gnql${path}?${new URLSearchParams(parameters)}`, headers);

test("nested members can be left out, and the longer ones of tags by one name", async () => {
  const rowWithout = async (exclude: string) => {
    const { status, body } = await ask("", { query: "ip:45.0.0.1", exclude });
    expect([exclude, status]).toEqual([exclude, 200]);
    return Object(body).data[0].internet_scanner_intelligence;
  };
  const whole = await rowWithout("");
  const tags: Record<string, unknown>[] = whole.tags;
  const shortTags = tags.map(({ id, slug, name, category, intention }) => ({ id, slug, name, category, intention }));
  expect(shortTags).toHaveLength(2);
  expect(await rowWithout("tags.details")).toEqual({ ...whole, tags: shortTags });
  const tagsWithoutCves = tags.map(({ cves: _cves, ...tag }) => tag);
  const { path: _path, ...http } = whole.raw_data.http;
  const scan = whole.raw_data.scan.map(({ port }: { port: number }) => ({ port }));
  expect(await rowWithout("tags.cves, raw_data.http.path,raw_data.scan.protocol")).toEqual({
    ...whole,
    tags: tagsWithoutCves,
    raw_data: { ...whole.raw_data, http, scan },
  });
  const { raw_data: _raw, ...withoutRaw } = whole;
  expect(await rowWithout("raw_data.http,raw_data")).toEqual(withoutRaw);
  // Clients name what is not there anyway.
  expect(await rowWithout("tags.detail,details,raw_data.http.paths,tags.,.tags,metadata.asn.x,tag_volumes")).toEqual(
    whole,
  );
});

test("as CSV a page has a line an address, of the same addresses and values as the rows", async () => {
  const get = async (path: string, parameters: Record<string, string>) =>
    world.app.inject({
      url: `/v3/gnql${path}?${new URLSearchParams({ ...parameters, format: "csv" })}`,
      headers: { key: await world.addCaller("unlimited") },
    });
  const { statusCode, headers, body } = await get("", { query: "ip:45.0.0.0/24" });
  expect([statusCode, headers["content-type"], headers["search-count"]]).toEqual([200, "text/csv; charset=utf-8", "3"]);
  const at = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  const [first, second, third] = [now - 60_000, now - 5 * DAY, now - 20 * DAY].map(at);
  expect(body.split("\r\n")).toEqual([
    "ip,first_seen,last_seen,classification,tags,asn,organization,country",
    `45.0.0.1,${first},${first},malicious,formula mirai,AS64500,"'=cmd|' /C calc'!A0, ""Ltd""",DE`,
    `45.0.0.2,${second},${second},malicious,mirai,,,`,
    `45.0.0.3,${at(now - 40 * DAY)},${third},malicious,mirai,,,`,
    "",
  ]);
  expect((await get("/metadata", { query: "ip:45.0.0.0/24", quick: "1", exclude: "tags" })).body).toBe(body);
  const short = await get("", { query: "ip:45.0.0.0/24", size: "1" });
  expect([short.headers["search-count"], short.body.split("\r\n").length]).toEqual(["3", 3]);
  expect((await get("", { query: "port:1" })).body.split("\r\n")).toHaveLength(2);
  expect((await get("", { query: "*", scroll: "x" })).statusCode).toBe(400);
  expect((await get("", { query: "*)" })).json()).toMatchObject({ errors: [{ position: 1 }] });
});

test("the paths of the earlier version list the same addresses in the flat form, and have the same statistics", async () => {
  const query = "ip:45.0.0.0/24 tags:mirai";
  const read = async (path: string, parameters: Record<string, string>) => {
    const { status, body } = await world.get(`/v2/experimental/gnql${path}?${new URLSearchParams(parameters)}`);
    expect(status).toBe(200);
    return Object(body);
  };
  const first = await read("", { query, size: "2" });
  expect(first).toMatchObject({ complete: false, count: 3, message: "ok", query, adjusted_query: "" });
  const last = await read("", { query, size: "2", scroll: first.scroll });
  expect(last).toMatchObject({ complete: true, count: 3 });
  // A client takes any `scroll` for that of a further page.
  expect(last).not.toHaveProperty("scroll");
  const ips = ["45.0.0.1", "45.0.0.2", "45.0.0.3"];
  const flat = await Promise.all(ips.map(async (ip) => (await world.get(`/v2/noise/context/${ip}`)).body));
  expect([...first.data, ...last.data]).toEqual(flat);
  expect(await read("/stats", { query })).toEqual((await ask("/stats", { query })).body);
});
