import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { and, facet, facetIn, not } from "@noisefloor/query/conditions/address-set.ts";
import { compileSearch } from "@noisefloor/query/conditions/compile-bitmaps.ts";
import { searchCounts } from "@noisefloor/query/search/queries.ts";
import { logSlow } from "@noisefloor/query/search/slow-search.ts";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const DAY = 24 * 60 * 60 * 1000;
/** A spreadsheet would run it. */
const ORGANIZATION = `=cmd|' /C calc'!A0, "Ltd"`;
let now = Date.now();
let world: World;

beforeAll(async () => {
  world = await createWorld(() => now);
  const formula = makeTag("formula", "unknown");
  await world.addTags([makeTag("mirai", "malicious", { cves: ["CVE-2024-3094"] }), formula]);
  const mirai = { destination_port: 23, transport: "tcp", tags: ["mirai"] };
  await world.store([
    observation("45.0.0.1", now - 60_000, {
      ...{ ...mirai, tags: ["mirai", "formula"], country: "DE", asn: 64_500, organization: ORGANIZATION },
      http: { method: "GET", path: "/secret-a" },
    }),
    observation("45.0.0.2", now - 5 * DAY, { ...mirai, transport: "udp" }),
    observation("45.0.0.3", now - 20 * DAY, { destination_port: 22, transport: "tcp" }),
    observation("45.0.0.3", now - 40 * DAY, mirai),
  ]);
});
afterAll(() => world.close());

const ask = (path: string, parameters: Record<string, string>, headers?: Record<string, string>) =>
  world.get(`/v3/gnql${path}?${new URLSearchParams(parameters)}`, headers);

test("a wrong query is a 400 with every error at its place", async () => {
  const { status, body } = await ask("/count", { query: "port:22 clasification:malicious asn:x" });
  expect(status).toBe(400);
  expect(body).toMatchObject({
    message: expect.stringMatching(
      /^Character 8: no field is called "clasification". Did you mean "classification"\?$/,
    ),
    errors: [
      { position: 8, length: 13 },
      { position: 36, length: 1 },
    ],
  });
  expect((await ask("/count", {})).status).toBe(400);
});

test("500 different conditions of any fields are one search", async () => {
  const kinds = [
    (number: number) => `port:${1_000 + number}`,
    (number: number) => `port:>${60_000 + number}`,
    (number: number) => `path:/${number}`,
    (number: number) => `path:*/${number}`,
    (number: number) => `useragent:a${number}`,
    (number: number) => `asn:${number}`,
    (number: number) => `ja4:${number}`,
    (number: number) => `city:a${number}`,
    (number: number) => `ip:9.9.9.${number % 256}`,
    (number: number) => `(hassh:${number} rdns:${number})`,
  ];
  const conditions = Array.from({ length: 450 }, (_, index) => kinds[index % kinds.length]?.(index + 1) ?? "");
  const count = async (query: string) => (await ask("/count", { query })).body;
  expect(await count(`port:22 OR ${conditions.join(" OR ")}`)).toMatchObject({ count: 1 });
  expect(await count(`port:23 ${conditions.map((one) => `-${one}`).join(" ")}`)).toMatchObject({ count: 3 });
});

test.each([
  ["networks", (number: number) => `ip:9.9.${number % 256}.0/${24 + (number >> 8)}`],
  ["words", (number: number) => `${number}x`],
  ["times", (number: number) => `last_seen:${number}h`],
])("hundreds of different conditions on %s are one search", async (_, condition) => {
  const query = Array.from({ length: atVolume(120, 500) }, (_, index) => condition(index + 1)).join(" ");
  const { status, body } = await ask("/count", { query });
  expect([status, Object(body).message]).toEqual([200, undefined]);
});

test("the rows are those of /v3/ip; members can be left out", async () => {
  const { body } = await ask("", { query: "country:germany" });
  const context = (await world.get("/v3/ip/45.0.0.1")).body;
  expect(body).toMatchObject({
    request_metadata: { count: 1, scroll: "", complete: true, message: "", query: "country:germany" },
    data: [{ ip: "45.0.0.1" }],
  });
  const { request_metadata: _metadata, ...row } = Object(context);
  expect(body).toHaveProperty("data", [row]);
  const short = (await ask("/metadata", { query: "country:DE", exclude: "tags,metadata.asn" })).body;
  const { raw_data: _raw, tags: _tags, metadata, ...others } = row.internet_scanner_intelligence;
  const { asn: _asn, ...left } = metadata;
  expect(short).toHaveProperty("data", [{ ...row, internet_scanner_intelligence: { ...others, metadata: left } }]);
  const quick = { internet_scanner_intelligence: { found: true, classification: "malicious" } };
  expect((await ask("", { query: "country:DE", quick: "True" })).body).toMatchObject({ data: [quick] });
  const named = "tags.details,destination_asns,tag_volumes,spoofable,metadata.os,nothing";
  const [rest] = Object((await ask("", { query: "country:DE", exclude: named })).body).data;
  const scanner = rest.internet_scanner_intelligence;
  expect([scanner.spoofable, scanner.metadata.os, scanner.metadata.destination_asns]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(scanner.metadata.destination_cities).toEqual([]);
});

test("a scroll token continues its own search alone, for a day", async () => {
  const asked = { query: "ip:45.0.0.0/24", size: "2" };
  const { body } = await ask("", asked);
  expect(body).toMatchObject({ data: [{ ip: "45.0.0.1" }, { ip: "45.0.0.2" }], request_metadata: { complete: false } });
  const { scroll } = Object(body).request_metadata;
  expect((await ask("", { ...asked, scroll })).body).toMatchObject({
    data: [{ ip: "45.0.0.3" }],
    request_metadata: { count: 3, scroll: "", complete: true },
  });
  for (const harmless of [{ size: "1" }, { exclude: "tags" }, { query: " ip:45.0.0.0/24 " }, { quick: "False" }]) {
    expect((await ask("", { ...asked, scroll, ...harmless })).body).toMatchObject({ data: [{ ip: "45.0.0.3" }] });
  }
  for (const other of [{ query: "*" }, { scroll: "none" }, { quick: "1" }, { days: "90" }]) {
    expect((await ask("", { ...asked, scroll, ...other })).status).toBe(400);
  }
  now += DAY + 1;
  expect((await ask("", { ...asked, scroll })).status).toBe(400);
  now -= DAY + 1;
});

test("each listed address is a lookup; counting costs none", async () => {
  const headers = { key: await world.addCaller("community") };
  const remaining = async (path: string) => {
    const url = `/v3/gnql${path}?${new URLSearchParams({ query: "port:23" })}`;
    return (await world.app.inject({ method: "GET", url, headers })).headers["ratelimit-remaining"];
  };
  expect(await remaining("/count")).toBeUndefined();
  expect(await remaining("")).toBe("998");
  expect(await remaining("/ips")).toBe("996");
});

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
    "ip,first_seen,last_seen,classification,tags,asn,organization,country,spoofable",
    `45.0.0.1,${first},${first},malicious,formula mirai,AS64500,"'=cmd|' /C calc'!A0, ""Ltd""",DE,false`,
    `45.0.0.2,${second},${second},malicious,mirai,,,,true`,
    `45.0.0.3,${at(now - 40 * DAY)},${third},malicious,mirai,,,,true`,
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

test("a slow search logs the rows and the addresses of each condition, and no value of it", async () => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const read = reader(world.client, { maxSeconds: 60 });
  const query = and([
    facetIn("path", ["/secret-a"]),
    facet("user_agent", { type: "words", words: ["secret"] }),
    not(facet("path", { type: "matches", pattern: ["/secret-", { wildcard: "*" }] })),
  ]);
  const compiled = compileSearch(query, { scopes: [GLOBAL_SCOPE], from: 0, isOwnSensorsOnly: false });
  await logSlow(read, compiled, log, 60_000)(searchCounts(compiled), compiled.params);
  expect(lines).toEqual([]);
  await logSlow(read, compiled, log, 0)(searchCounts(compiled), compiled.params);
  await eventually(async () => expect(lines).toHaveLength(1));
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    msg: "slow search",
    query: "search-counts",
    conditions: [
      { condition: "path in 1 texts", rows: 1, addresses: 1 },
      { condition: "user_agent words", rows: 0, addresses: 0 },
      { condition: "path matches", rows: 1, addresses: 1 },
    ],
  });
  expect(lines[0]).not.toContain("secret");
});
