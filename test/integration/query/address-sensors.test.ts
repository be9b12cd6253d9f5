import type { Entitlement } from "@noisefloor/domain/access/caller.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seeded } from "../../support/builders/random.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:30:00Z");
const DAY = 24 * 60 * 60 * 1000;
const IPS = ["45.0.0.1", "45.0.0.2"];
/** Whose they are; the sensor `roaming` writes to all of them. */
const OWNERS = [
  { dataset: "global", workspace_id: undefined },
  { dataset: "community", workspace_id: undefined },
  { dataset: "personal", workspace_id: "team-a" },
  { dataset: "personal", workspace_id: "team-b" },
];
const nameOf = ({ dataset, workspace_id }: (typeof OWNERS)[number]) => workspace_id ?? dataset;

let world: World;
const random = seeded(1);
const observations = Array.from({ length: 600 }, (_, n) => {
  const owner = random.pick(OWNERS);
  return {
    ...owner,
    observation_id: `seen-${n}`,
    source_ip: random.pick(IPS),
    observed_at: new Date(NOW - random.int(0, 50 * DAY)).toISOString(),
    sensor_id: random.pick(["roaming", ...[1, 2, 3].map((n) => `${nameOf(owner)}-<${n}>`)]),
  };
});

beforeAll(async () => {
  world = await createWorld(() => NOW);
  const { rejected } = await world.store([
    ...observations,
    ...Array.from({ length: 120 }, (_, n) => ({
      source_ip: "45.0.0.9",
      observed_at: new Date(NOW - n).toISOString(),
      sensor_id: `s-${String(n).padStart(3, "0")}`,
    })),
  ]);
  expect(rejected).toEqual([]);
  // What arrives twice counts once.
  await world.store(observations.slice(0, 100));
});
afterAll(() => world.close());

/** Counted one by one. */
function expectedSensors(ip: string, owners: readonly string[]) {
  const seen = new Map(observations.map((one) => [JSON.stringify(one), one]));
  const visible = [...seen.values()].filter((one) => one.source_ip === ip && owners.includes(nameOf(one)));
  const sensors = [...new Set(visible.map(({ sensor_id }) => sensor_id))].map((sensor_id) => {
    const times = visible.filter((one) => one.sensor_id === sensor_id).map((one) => Date.parse(one.observed_at));
    return {
      sensor_id,
      first_seen: formatTimestamp(Math.min(...times)),
      last_seen: formatTimestamp(Math.max(...times)),
      observations: times.length,
    };
  });
  sensors.sort((a, b) => b.observations - a.observations || (a.sensor_id < b.sensor_id ? -1 : 1));
  return { ip, sensors, total_sensors: sensors.length };
}

test.each<[string, string, readonly Entitlement[], readonly string[]]>([
  ["those of its own data alone", "team-a", [], ["team-a"]],
  ["with `sensors` also those of the shared datasets", "team-b", ["sensors"], ["team-b", "global", "community"]],
  ["with another entitlement its own alone", "team-a", ["community_dataset"], ["team-a"]],
  [
    "with all entitlements none of another workspace",
    "team-c",
    ["community_dataset", "sensors"],
    ["global", "community"],
  ],
  ["none when it has neither", "team-c", [], []],
])("of the sensors that saw an address a workspace sees %s", async (_what, workspaceId, entitlements, owners) => {
  const key = await world.addCaller("unlimited", entitlements, workspaceId);
  for (const ip of [...IPS, "45.9.9.9"]) {
    for (const query of ["", "?workspace_labels=global,community,personal"]) {
      const { status, body } = await world.get(`/v3/noise/ips/${ip}/sensors${query}`, { key });
      expect([status, body]).toEqual([200, expectedSensors(ip, owners)]);
    }
  }
});

test("of many sensors the 100 with the most observations are named, and all are counted", async () => {
  const key = await world.addCaller("unlimited", ["sensors"]);
  const { body } = await world.get("/v3/noise/ips/45.0.0.9/sensors", { key });
  expect(body).toMatchObject({ total_sensors: 120, sensors: { length: 100, 0: { sensor_id: "s-000" } } });
});

test("sensors are named to keys alone, each question is a lookup, and a bad address is named", async () => {
  const path = "/v3/noise/ips/45.0.0.1/sensors";
  expect(await world.get(path, {})).toMatchObject({ status: 403 });
  expect(await world.get(path, { key: "nf_unknown" })).toMatchObject({ status: 401 });
  expect(await world.get("/v3/noise/ips/10.0.0.1/sensors")).toMatchObject({ status: 400 });
  const key = await world.addCaller("standard");
  const left = async () => {
    const { headers } = await world.app.inject({ url: path, headers: { key } });
    return Number(headers["ratelimit-remaining"]);
  };
  expect((await left()) - (await left())).toBe(1);
});
