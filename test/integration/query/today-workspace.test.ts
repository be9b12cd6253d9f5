import { randomUUID } from "node:crypto";
import { writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { deliveries, deliveryIdOf } from "@noisefloor/clickhouse/watches/deliveries.ts";
import { appendLook, readLogHead } from "@noisefloor/clickhouse/watches/log.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { loggedEvent, watchWith } from "../../support/watches/events.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.now();
const END = Math.ceil(NOW / HOUR) * HOUR;
const START = END - DAY;

let clock = NOW;
let world: World;
beforeAll(async () => {
  world = await createWorld(() => clock);
});
beforeEach(() => {
  clock = NOW;
});
afterAll(() => world.close());

/** A member of the answer for a workspace. */
const today = async (key: string, member: string) => Object((await world.get("/v3/today", { key })).body)[member];

test("the sensors that `/v3/sensors` calls silent are listed, the longest silence first", async () => {
  const active = Array.from({ length: 5 }, (_, hour) => hour);
  const counted = { source: "http", keyId: "", workspaceId: "", isRest: false, format: "cowrie", outcome: "accepted" };
  const rows = Object.entries({ busy: 0, "silent-1": 20, "silent-2": 30 }).flatMap(([sensorId, since]) =>
    active.map((ago) => {
      const hour = END - HOUR - (since + ago) * HOUR;
      return { ...counted, sensorId, hour, process: "11111111-1111-4111-8111-111111111111", records: 5, lastAt: hour };
    }),
  );
  await writeSensorCounts(world.client, rows);
  const key = await world.addCaller("unlimited", ["sensors"]);
  const { body } = await world.get("/v3/sensors", { key });
  const sensors = z.object({ sensors: z.array(z.looseObject({ name: z.string(), state: z.string() })) }).parse(body);
  const silent = sensors.sensors.filter(({ state }) => state === "silent").map(({ name }) => name);
  expect(silent.toSorted()).toEqual(["silent-1", "silent-2"]);
  expect(await today(key, "silent_sensors")).toMatchObject({
    count: 2,
    entries: [
      { name: "silent-2", source: "http", search: { query: "sensor:silent-2" } },
      { name: "silent-1", search: { query: "sensor:silent-1" } },
    ],
  });
  const other = await world.addCaller("unlimited");
  expect(await today(other, "silent_sensors")).toEqual({ count: 0, entries: [] });
});

test("a feed that lists more or fewer addresses than a day before is listed with both numbers, a fallen one first", async () => {
  clock = START - HOUR;
  const key = await world.addCaller("unlimited");
  const scan = (count: number, at: number, destination_port: number) =>
    Array.from({ length: count }, (_, n) =>
      observation(`45.7.${destination_port & 255}.${n}`, at, { destination_port, transport: "tcp" }),
    );
  await world.store([...scan(2, clock, 22), ...scan(3, clock, 23), ...scan(8, clock, 80)]);
  const queries = {
    growing: "port:22",
    same: "port:23",
    fallen: "port:80 last_seen:1d",
    disabled: "port:22 OR port:23",
  };
  const put = (name: string, query: string, enabled = true) =>
    world.app.inject({ method: "PUT", url: `/v3/feeds/${name}`, payload: { query, enabled }, headers: { key } });
  for (const [name, query] of Object.entries(queries)) expect((await put(name, query)).statusCode).toBe(201);
  clock = NOW;
  await world.store(scan(9, clock, 22));
  await put("disabled", queries.disabled, false);
  await put("made-in-the-day", "port:22");
  for (const name of Object.keys(queries)) await world.app.inject({ url: `/v3/feeds/${name}`, headers: { key } });
  expect(await today(key, "feeds")).toMatchObject({
    count: 2,
    entries: [
      { name: "fallen", count: 0, previous_count: 8, fell_from: 8, search: { query: queries.fallen, days: 0 } },
      { name: "growing", count: 9, previous_count: 2, fell_from: 0 },
    ],
  });
  expect(await today(await world.addCaller("unlimited"), "feeds")).toEqual({
    count: 0,
    entries: [],
  });
});

test("events of the workspace's watches are counted, the newest first, with those that could not be delivered", async () => {
  const key = await world.addCaller("unlimited", [], "soc");
  const [ours, theirs] = [watchWith([]), watchWith([], { workspaceId: "others" })];
  await watchDefinitions.write(world.client, [ours, theirs], clock);
  const summaryOf = (number: number) => `event ${number} <b>\n`;
  for (const number of [1, 2, 3]) {
    const events = [ours, theirs, ours].map((watch, index) => ({
      ...loggedEvent(watch, clock, number, summaryOf(number * 10 + index)),
      ...{ subjects: [], times: [] },
    }));
    const head = await readLogHead(world.client);
    expect(await appendLook(world.client, { holder: "a", position: "", events }, head)).toBeDefined();
  }
  const tried = (watch: Watch, state: "pending" | "delivered" | "failed", updatedAt: number) => {
    const eventId = randomUUID();
    const of = { deliveryId: deliveryIdOf(eventId, "d"), watchId: watch.id, eventId, destinationId: "d", state };
    return { ...of, attempts: 1, lastStatus: 500, lastError: "", lastAttemptAt: 0, nextAttemptAt: 0, updatedAt };
  };
  await deliveries.write(world.client, [
    ...[tried(ours, "pending", clock), tried(ours, "failed", clock), tried(ours, "delivered", clock)],
    ...[tried(theirs, "pending", clock), tried(ours, "failed", clock - 2 * DAY)],
  ]);
  const events = await today(key, "events");
  expect(events).toMatchObject({ count: 6, undelivered: 2 });
  expect(events.entries).toHaveLength(6);
  for (const [index, number] of [32, 30, 22, 20, 12, 10].entries()) {
    expect(events.entries[index]).toMatchObject({
      watch: { id: ours.id, name: ours.name },
      summary: summaryOf(number),
      link: expect.stringMatching(`/watches/${ours.id}$`),
    });
  }
  expect(await today(await world.addCaller("unlimited"), "events")).toEqual({ count: 0, undelivered: 0, entries: [] });
  clock += 2 * DAY;
  expect(await today(key, "events")).toEqual({ count: 0, undelivered: 0, entries: [] });
});
