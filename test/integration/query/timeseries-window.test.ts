import { afterAll, beforeAll, expect, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

/** A query takes 500. */
const CONDITIONS = atVolume(120, 500);
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.parse("2026-11-20T14:30:00Z");
let world: World;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([makeTag("mirai", "malicious")]);
  const mirai = { destination_port: 23, transport: "tcp", tags: ["mirai"] };
  await world.store([
    observation("45.0.0.1", NOW - 60_000, mirai),
    observation("45.0.0.1", NOW - 2 * HOUR, { destination_port: 22, transport: "tcp" }),
    observation("45.0.0.2", NOW - 2 * HOUR, mirai),
    observation("45.0.0.2", NOW - 12 * DAY, mirai),
  ]);
});
afterAll(() => world.close());

const ask = (path: string, parameters: Record<string, string>, headers?: Record<string, string>) =>
  world.get(`/v3/gnql/timeseries${path}?${new URLSearchParams({ query: "tags:mirai", ...parameters })}`, headers);

test("a time series begins and ends on the hour, within what the plan reaches", async () => {
  const dates = async (parameters: Record<string, string>, headers?: Record<string, string>) => {
    const { status, body } = await ask("/stats", parameters, headers);
    expect(status).toBe(200);
    const data: { date: string }[] = Object(body).data;
    return [data.length, data[0]?.date, data.at(-1)?.date];
  };
  expect(await dates({})).toEqual([25, "2026-11-19 14:00:00.000", "2026-11-20 14:00:00.000"]);
  expect(await dates({ start: "", end: "" })).toEqual(await dates({}));
  const given = { start: "2026-11-20T11:59:59.9+01:00", end: "2026-11-20T12:00:01Z" };
  expect(await dates(given)).toEqual([3, "2026-11-20 10:00:00.000", "2026-11-20 12:00:00.000"]);
  expect(await dates({ start: "2026-11-18", end: "2026-11-20", interval: "day" })).toEqual([
    2,
    "2026-11-18 00:00:00.000",
    "2026-11-19 00:00:00.000",
  ]);
  const far = { start: "2020-01-01", end: "2099-01-01", interval: "day" };
  expect(await dates(far)).toEqual([90, "2026-08-22 15:00:00.000", "2026-11-19 15:00:00.000"]);
  const headers = { key: await world.addCaller("community") };
  expect(await dates(far, headers)).toEqual([10, "2026-11-10 15:00:00.000", "2026-11-19 15:00:00.000"]);
  expect(await dates({ start: "2026-10-01", end: "2026-10-02" }, headers)).toEqual([0, undefined, undefined]);
});

test("a time before the plan's reach has nothing, and holds nothing of the query capacity afterwards", async () => {
  const before = { start: "2025-11-01", end: "2025-11-02" };
  expect(await ask("/stats", before)).toMatchObject({ status: 200, body: { count: 0, data: [] } });
  expect(await ask("", before)).toMatchObject({ status: 200, body: {} });
  expect((await world.makeApp()).admission.inFlight()).toBe(0);
  for (let asked = 0; asked < 3; asked++) expect((await ask("", {})).status).toBe(200);
  expect((await world.makeApp()).admission.inFlight()).toBe(0);
});

test.each([
  { start: "yesterday" },
  { start: "2026-13-01" },
  { start: "2026-02-30" },
  { start: "2026-11-20 10:00:00" },
  { start: "2026-11-20T10:00:00" },
  { end: "1763644826" },
  { start: "2026-11-20T12:00:00Z", end: "2026-11-20T12:00:00Z" },
  { start: "2026-11-20T13:00:00Z", end: "2026-11-20T12:00:00Z" },
  { start: "2026-11-21" },
  { interval: "week" },
  { format: "csv" },
])("%j is a 400", async (parameters) => {
  expect((await ask("/stats", parameters)).status).toBe(400);
});

test("an hour lists who did it in that hour, with what they did in it alone; each distinct address is a lookup", async () => {
  const { status, body } = await ask("", {});
  expect(status).toBe(200);
  const scanner = { found: true, tags: ["mirai"], classification: "malicious" };
  expect(body).toMatchObject({
    "2026-11-20-12": [{ ip: "45.0.0.2", internet_scanner_intelligence: scanner }],
    "2026-11-20-14": [
      { ip: "45.0.0.1", internet_scanner_intelligence: { ...scanner, raw_data: { scan: [{ port: 23 }] } } },
    ],
  });
  expect(Object.keys(Object(body))).toEqual(["2026-11-20-12", "2026-11-20-14"]);
  const headers = { key: await world.addCaller("community") };
  const url = `/v3/gnql/timeseries?${new URLSearchParams({ query: "ip:45.0.0.1" })}`;
  const answer = await world.app.inject({ url, headers });
  expect(Object.keys(answer.json())).toEqual(["2026-11-20-12", "2026-11-20-14"]);
  expect(answer.headers["ratelimit-remaining"]).toBe("999");
  expect((await ask("", { query: "port:1" })).body).toEqual({});
});

test("hundreds of different conditions on the networks of operators are one time series", async () => {
  const names = Array.from({ length: CONDITIONS }, (_, index) => `o${index}`);
  const networkOf = (index: number) => (index < 3 ? `45.0.0.${index}/32` : `46.0.${index >> 8}.${index & 255}/32`);
  await world.replaceNetworks(
    "actor",
    names.map((name, index) => networkList(name, [networkOf(index)], { name })),
  );
  const count = async (query: string) => {
    const { status, body } = await ask("/stats", { query });
    return [status, Object(body).count];
  };
  const any = names.map((name) => `actor:${name}`).join(" OR ");
  expect(await count("*")).toEqual([200, 3]);
  expect(await count(any)).toEqual([200, 3]);
  expect(await count("actor:o1 OR actor:o7")).toEqual([200, 2]);
  expect(await count("NOT actor:o1")).toEqual([200, 1]);
  expect(
    await count(
      `port:23 ${names
        .slice(1)
        .map((name) => `-actor:${name}`)
        .join(" ")}`,
    ),
  ).toEqual([200, 0]);
});

test.each([
  ["ports", (number: number) => `port:>${number}`],
  ["paths", (number: number) => `path:/${number}`],
  ["words", (number: number) => `${number}x`],
  ["times", (number: number) => `last_seen:${number}h`],
])("hundreds of different conditions on %s are one time series", async (_, condition) => {
  const query = Array.from({ length: CONDITIONS }, (_, index) => condition(index + 1)).join(" ");
  expect((await ask("/stats", { query })).status).toBe(200);
});

test("a time that other clients name otherwise is that time, or a 400, and no other time instead", async () => {
  const time = ["2026-11-19T00:00:00Z", "2026-11-19T05:00:00Z"];
  const dates = async (start: string, end: string) => {
    const { body } = await ask("/stats", { [start]: String(time[0]), [end]: String(time[1]) });
    return Object(body).data.map(({ date }: { date: string }) => date);
  };
  expect(await dates("start_time", "end_time")).toEqual(await dates("start", "end"));
  expect(await dates("since", "until")).toHaveLength(5);
  const statusOf = async (path: string) => (await world.get(path)).status;
  const query = "query=tags:mirai";
  expect(await statusOf(`/v3/gnql/timeseries/stats?${query}&start=2026-11-19&start_time=2026-11-18`)).toBe(400);
  expect(await statusOf(`/v3/gnql/timeseries/stats?${query}&days=7`)).toBe(400);
  for (const path of ["/v3/gnql", "/v3/gnql/count", "/v3/gnql/stats"]) {
    expect([path, await statusOf(`${path}?${query}&start_time=2026-11-19`)]).toEqual([path, 400]);
  }
  for (const path of ["/v3/noise/ips/45.0.0.1/timeline", "/v3/tags/mirai/activity", "/v3/stats/networks"]) {
    expect([path, await statusOf(`${path}?end=2026-11-19`)]).toEqual([path, 400]);
  }
  expect(Object((await world.get(`/v3/gnql?${query}&limit=1`)).body).data).toHaveLength(1);
});
