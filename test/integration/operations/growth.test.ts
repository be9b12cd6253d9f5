import { SENSOR_PREFIX } from "@noisefloor/cli/simulation/fleet.ts";
import { toDateTime64 } from "@noisefloor/clickhouse/client/query.ts";
import { readNewestReceipt } from "@noisefloor/clickhouse/observations/observations.ts";
import { writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { readDailyObservations } from "@noisefloor/clickhouse/storage/growth.ts";
import { DAY_MS, floorToHour, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
beforeEach(async () => {
  world = await createWorld(Date.now);
});
afterEach(() => world.close());

type Seen = { readonly sensor: string; readonly seen: number; readonly received: number; readonly count: number };

/** Stores observations of one sensor that were seen and received at the given times. */
async function store({ sensor, seen, received, count }: Seen) {
  const values = Array.from({ length: count }, (_, index) => ({
    observation_id: `${sensor}-${seen}-${index}`,
    observed_at: toDateTime64(seen + index),
    received_at: toDateTime64(received),
    dataset: "global",
    sensor_id: sensor,
    source_ip: "45.0.0.1",
  }));
  await world.client.insert({ table: "observations", values, format: "JSONEachRow" });
}

/** What a service counts: it takes each record in, also one that is stored already. */
const accept = (source: string, at: number, records: number) =>
  writeSensorCounts(world.client, [
    {
      ...{ hour: floorToHour(at), source, keyId: "", workspaceId: "", sensorId: "tap", isRest: false },
      ...{ format: "observations", outcome: "accepted", process: crypto.randomUUID(), records, lastAt: at },
    },
  ]);

const perDay = () => readDailyObservations(world.client, SENSOR_PREFIX);

test("a day's growth is that of stored observations of sensors, however often they were sent, without replays and simulations", async () => {
  const now = Date.now();
  const began = floorToHour(now) - 2 * DAY_MS;
  for (const source of ["http", "kafka"]) await accept(source, began, 500_000);
  await store({ sensor: "tap", seen: began, received: began + 1_000, count: 100 });
  await store({ sensor: "tap", seen: now - HOUR_MS, received: now, count: 100 });
  // A log of last week and of last year, and what the simulator stores as of now.
  for (const age of [3 * DAY_MS, 20 * DAY_MS])
    await store({ sensor: "old", seen: now - age, received: now, count: 400 });
  await accept("file", now, 800);
  await store({ sensor: "demo-1", seen: now - HOUR_MS, received: now, count: 1_000 });
  const days = (now - began) / DAY_MS;
  expect(await perDay()).toBeCloseTo(200 / days, 0);
});

test("before sensors have sent for a day, no rate is made up of the first hours", async () => {
  const now = Date.now();
  await accept("http", now - 20 * HOUR_MS, 100);
  await store({ sensor: "tap", seen: now - 20 * HOUR_MS, received: now - 20 * HOUR_MS, count: 100 });
  expect(await perDay()).toBeUndefined();
  await accept("http", now - 26 * HOUR_MS, 100);
  expect(await perDay()).toBeGreaterThan(80);
});

test("the last insert is that of whichever way was used last, a file and a command too", async () => {
  const now = Date.now();
  expect(await readNewestReceipt(world.client)).toBeUndefined();
  await store({ sensor: "old", seen: now - 5 * DAY_MS, received: now - 60_000, count: 1 });
  expect(await readNewestReceipt(world.client)).toBe(now - 60_000);
});
