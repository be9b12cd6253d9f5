import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { formatTimestamp, HOUR_MS, MINUTE_MS } from "@noisefloor/domain/time/window.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import { answerInMemory } from "@noisefloor/query/search/in-memory.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { startSearchIndex } from "../../support/worlds/facet-index.ts";
import {
  allEvents,
  makeWatch,
  startWatching,
  type WatchingProcess,
  writeWatches,
} from "../../support/worlds/watching-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const WORKSPACE = "watching";
let world: World;
let process: WatchingProcess;
beforeEach(async () => {
  world = await createWorld(Date.now);
  await world.addTags([makeTag("mirai", "malicious", { cves: ["CVE-2026-1234"] }), makeTag("crawler", "benign")]);
  await world.addCaller("unlimited", [], WORKSPACE);
  process = await startWatching(world);
});
afterEach(async () => {
  await process.stop();
  await world.close();
});

const addresses = (event: WatchEvent | undefined) =>
  event?.type === "network_seen" || event?.type === "search_matches" ? event.data.addresses.map(({ ip }) => ip) : [];

test("a watched network's address is told of once, with what is known of it", async () => {
  const watch = makeWatch(WORKSPACE, { type: "network_seen", networks: ["45.0.0.0/24", "45.0.0.7/32"] });
  await writeWatches(world, [watch]);
  await process.look();
  const at = Math.floor(Date.now() / 1_000 - 5) * 1_000;
  await world.store([observation("45.0.0.7", at, { tags: ["mirai"] }), observation("46.0.0.7", at)]);
  const [event, ...more] = await process.look();
  expect(more).toEqual([]);
  expect(event).toMatchObject({
    type: "network_seen",
    watch: { id: watch.id, name: "network_seen" },
    summary: "45.0.0.7 of the watched network 45.0.0.7/32 was seen: mirai",
    link: `https://noisefloor.example.org/watches/${watch.id}`,
    data: {
      count: 1,
      truncated: false,
      addresses: [
        {
          ip: "45.0.0.7",
          network: "45.0.0.7/32",
          classification: "malicious",
          tags: ["mirai"],
          last_seen: formatTimestamp(at),
        },
      ],
    },
  });
  await world.store([observation("45.0.0.7", at + 1_000), observation("45.0.0.8", at)]);
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.8"]]);
  expect(await process.look()).toEqual([]);
});

test("it is told of again after so many hours, and history that comes late never", async () => {
  const watch = makeWatch(WORKSPACE, { type: "network_seen", networks: ["45.0.0.0/8"] }, { repeatAfterHours: 2 });
  await writeWatches(world, [watch]);
  await process.look();
  const hoursAgo = (hours: number) => Date.now() - hours * HOUR_MS;
  await world.store([observation("45.0.0.1", hoursAgo(10)), observation("45.0.0.2", hoursAgo(25))]);
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.1"]]);
  await world.store([observation("45.0.0.1", hoursAgo(9)), observation("45.0.0.1", hoursAgo(12))]);
  expect(await process.look(), "within two hours of what was told, or before it").toEqual([]);
  await world.store([observation("45.0.0.1", hoursAgo(7)), observation("45.0.0.2", hoursAgo(30))]);
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.1"]]);
});

test("what was stored before the watch was made, is removed, or is stored again makes no event", async () => {
  const old = observation("45.0.0.1", Date.now() - 5_000);
  await world.store([old]);
  await writeWatches(world, [
    makeWatch(WORKSPACE, { type: "network_seen", networks: ["45.0.0.0/8"] }, { sinceAt: Date.now() + 1_000 }),
  ]);
  expect(await process.look()).toEqual([]);
  await new Promise((settle) => setTimeout(settle, 1_100));
  await world.store([observation("45.0.0.2", Date.now() - 1_000)]);
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.2"]]);
  await removeObservations(world.client, { addresses: ["45.0.0.2"] });
  expect(await process.look(), "the tables were exchanged").toEqual([]);
  await world.store([observation("45.0.0.3", Date.now() - 1_000)]);
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.3"]]);
});

test("an address that begins to match a search is told of, in the store and in memory", async () => {
  const index = startSearchIndex(world, { retentionDays: () => 100, now: Date.now, intervalMs: 100 });
  onTestFinished(index.stop);
  await world.store([
    observation("45.0.0.1", Date.now() - 5_000, { tags: ["mirai"] }),
    observation("45.0.0.2", Date.now() - 5_000),
  ]);
  const other = await startWatching(world, { memory: answerInMemory(index) });
  onTestFinished(other.stop);
  for (const looking of [process, other]) {
    const watch = makeWatch(WORKSPACE, { type: "search_matches", query: "tags:mirai NOT classification:benign" });
    await writeWatches(world, [watch]);
    expect(await looking.look(), "what matched before").toEqual([]);
    const [first, second] = looking === process ? ["45.0.0.2", "45.0.0.3"] : ["45.0.0.4", "45.0.0.5"];
    await world.store([
      observation(first, Date.now(), { tags: ["mirai"] }),
      observation("45.0.0.1", Date.now(), { tags: ["mirai"] }),
      observation(second, Date.now()),
    ]);
    const found = await eventually(async () => {
      const events = (await looking.look()).filter((event) => event.watch.id === watch.id);
      expect(events).not.toEqual([]);
      return events;
    });
    expect(found.map(addresses)).toEqual([[first]]);
    expect(await looking.look()).toEqual([]);
    if (looking === process) await process.stop();
  }
});

test("of more addresses than one question to the store has, those that begin to match are told of", async () => {
  const some = (from: number, count: number, tags: string[] = []) =>
    Array.from({ length: count }, (_, index) => {
      const number = from + index;
      return observation(`45.2.${number >> 8}.${number & 255}`, Date.now() - 1_000, { tags });
    });
  await world.store(some(0, 10, ["mirai"]));
  await writeWatches(world, [makeWatch(WORKSPACE, { type: "search_matches", query: "tags:mirai" })]);
  await process.look();
  await world.store([...some(0, 9_000), ...some(9_000, 2, ["mirai"])]);
  expect((await process.look()).map(addresses)).toEqual([["45.2.35.40", "45.2.35.41"]]);
});

test("a value is new once three addresses have it, and no value that was there before", async () => {
  const paths = (path: string, ...hosts: number[]) =>
    hosts.map((host) => observation(`45.0.1.${host}`, Date.now() - 1_000, { http: { path }, destination_port: 80 }));
  await world.store(paths("/old", 1));
  await writeWatches(world, [
    makeWatch(WORKSPACE, { type: "new_value", field: "raw_data.http.path", min_addresses: 3 }),
    makeWatch(WORKSPACE, { type: "new_value", field: "cve", min_addresses: 2 }),
    makeWatch(WORKSPACE, { type: "new_value", field: "tags", min_addresses: 1 }),
  ]);
  await process.look();
  await world.store([...paths("/old", 2, 3, 4), ...paths("/New", 1, 2), ...paths("/new", 2)]);
  expect(await process.look()).toEqual([]);
  await world.store([
    ...paths("/new", 9),
    observation("45.0.1.1", Date.now(), { tags: ["mirai"] }),
    observation("45.0.1.2", Date.now(), { tags: ["mirai"] }),
  ]);
  const events = await process.look();
  expect(events.map(({ data }) => data)).toEqual(
    expect.arrayContaining([
      { field: "raw_data.http.path", count: 1, truncated: false, values: [{ value: "/new", addresses: 3 }] },
      { field: "cve", count: 1, truncated: false, values: [{ value: "CVE-2026-1234", addresses: 2 }] },
      { field: "tags", count: 1, truncated: false, values: [{ value: "mirai", addresses: 2 }] },
    ]),
  );
  expect(events).toHaveLength(3);
  expect(await process.look()).toEqual([]);
});

test("a sensor that stops is told of once each time, and one that was silent before is not", async () => {
  const now = Date.now();
  const sent = (sensorId: string, minutesAgo: number) => ({
    hour: Math.floor(now / HOUR_MS) * HOUR_MS,
    source: "http",
    keyId: "",
    workspaceId: "",
    sensorId,
    isRest: false,
    format: "",
    outcome: "accepted",
    process: crypto.randomUUID(),
    records: 1,
    lastAt: now - minutesAgo * MINUTE_MS,
  });
  await world.addCaller("unlimited", ["sensors"], WORKSPACE);
  await writeSensorCounts(world.client, [sent("quiet", 90), sent("ends", 11), sent("goes on", 1)]);
  await writeWatches(world, [
    makeWatch(WORKSPACE, { type: "sensor_silent", sensors: [], after_minutes: 10 }, { sinceAt: now - 5 * MINUTE_MS }),
  ]);
  const [event, ...more] = await process.look();
  expect(more).toEqual([]);
  expect(event).toMatchObject({
    summary: "ends sent nothing for 10 minutes",
    data: { after_minutes: 10, count: 1, truncated: false, sensors: [{ sensor: "ends" }] },
  });
  const again = await startWatching(world);
  await process.stop();
  expect(await again.look()).toEqual([]);
  await again.stop();
  process = await startWatching(world);
});

test("a tag that rises above what is usual is told of once a day, with what that was made of", async () => {
  await writeWatches(world, [makeWatch(WORKSPACE, { type: "tag_rises", tag: "mirai" }, { repeatAfterHours: 24 })]);
  const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const past = Array.from({ length: 20 * 24 }, (_, age) => hour - (age + 1) * HOUR_MS);
  await world.store(
    past.flatMap((at) => [1, 2, 3].map((host) => observation(`45.0.3.${host}`, at, { tags: ["mirai"] }))),
  );
  expect(await process.look()).toEqual([]);
  const now = Date.now() - 1;
  await world.store(Array.from({ length: 60 }, (_, host) => observation(`45.0.4.${host}`, now, { tags: ["mirai"] })));
  const again = await startWatching(world);
  await process.stop();
  const [event, ...more] = await again.look();
  expect(more).toEqual([]);
  expect(event).toMatchObject({
    type: "tag_rises",
    summary: expect.stringMatching(/^mirai rises: 60 addresses in the hour from /),
    data: { tag: { slug: "mirai" }, hour: formatTimestamp(hour), count: 60, expected: { median: 3 } },
  });
  await again.stop();
  process = await startWatching(world);
  expect(await process.look(), "told").toEqual([]);
});

test("processes that look at the same time, are killed or stop tell everything once", async () => {
  await writeWatches(world, [makeWatch(WORKSPACE, { type: "network_seen", networks: ["45.0.0.0/8"] })]);
  const all = [process, await startWatching(world), await startWatching(world)];
  const expected = new Set<string>();
  let next = 0;
  for (let round = 0; round < 6; round++) {
    const ips = Array.from({ length: 1 + (round % 3) }, () => `45.0.2.${next++}`);
    await world.store(ips.map((ip) => observation(ip, Date.now() - 1_000)));
    for (const ip of ips) expected.add(ip);
    await Promise.all(all.map((each) => each.look()));
    if (round % 2 === 1) {
      // Killed while it leads, others take over once it has said nothing for a while: here at once, as it stops.
      const [first] = all.splice(
        all.findIndex((each) => each.isLeader()),
        1,
      );
      await first?.stop();
      all.push(await startWatching(world));
    }
  }
  await Promise.all(all.map((each) => each.look()));
  const told = (await allEvents(world)).flatMap(addresses);
  expect(told.sort()).toEqual([...expected].sort());
  process = all.pop() ?? process;
  await Promise.all(all.map((each) => each.stop()));
});
