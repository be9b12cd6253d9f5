import { randomUUID } from "node:crypto";
import { makeCredential, writeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import { consumerLag } from "@noisefloor/clickhouse/sensors/consumer-lag.ts";
import { type ActivityRow, writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import type { Entitlement } from "@noisefloor/domain/access/caller.ts";
import type { Dataset } from "@noisefloor/domain/access/scope.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type Random, seeded } from "../../support/builders/random.ts";
import { sensorRecords } from "../../support/intake/sensor-records.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.parse("2026-11-20T14:30:00Z");
const OUTCOMES = ["accepted", "ignored", "not-json", "unknown-tag"] as const;
/** Enough that some of them are in one workspace alone. */
const SELDOM = Array.from({ length: 20 }, (_, index) => `tap-${index}`);
const PROCESSES = [randomUUID(), randomUUID()];

/** Whose records they are: of no key, of one from the settings, and of stored ones. */
const KEYS: readonly { readonly keyId: string; readonly dataset?: Dataset; readonly workspaceId?: string }[] = [
  { keyId: "" },
  { keyId: "of-the-settings" },
  { keyId: "shared", dataset: "community", workspaceId: "" },
  { keyId: "of-a", dataset: "personal", workspaceId: "team-a" },
  { keyId: "of-b", dataset: "personal", workspaceId: "team-b" },
];
const isStored = (keyId: string) => KEYS.some((key) => key.keyId === keyId && key.dataset !== undefined);

let world: World;
let rows: readonly ActivityRow[];

beforeAll(async () => {
  world = await createWorld(() => NOW);
  for (const { keyId, dataset, workspaceId = "" } of KEYS) {
    if (dataset === undefined) continue;
    const about = { id: keyId, label: `label of ${keyId}`, dataset, workspaceId };
    await writeCredential(world.client, makeCredential("sensor", about, NOW - 9 * DAY).credential, NOW);
  }
  rows = makeRows(seeded(1));
  await writeSensorCounts(world.client, rows);
});
afterAll(() => world.close());

/** Without a key, only what was accepted says whose it is. */
function workspaceOf({ keyId, workspaceId = "" }: (typeof KEYS)[number], outcome: string, random: Random): string {
  return keyId === "" && outcome === "accepted" ? random.pick(["", "", "team-a", "team-b"]) : workspaceId;
}

function makeRows(random: Random): ActivityRow[] {
  return Array.from({ length: 400 }, () => {
    const hour = Math.floor(NOW / HOUR) * HOUR - random.int(0, 9 * 24) * HOUR;
    const [key, outcome] = [random.pick(KEYS), random.pick(OUTCOMES)];
    return {
      hour,
      source: random.pick(["http", "kafka"]),
      keyId: key.keyId,
      workspaceId: workspaceOf(key, outcome, random),
      sensorId: random.pick(["", "berlin-1", "tokyo-1", ...(key.keyId === "" ? SELDOM : [])]),
      isRest: false,
      format: random.pick(["cowrie", ""]),
      outcome,
      process: random.pick(PROCESSES),
      records: random.int(1, 500),
      lastAt: hour + random.int(0, Math.min(HOUR, NOW - hour)),
    };
  });
}

const listSchema = z.object({
  sensors: z.array(
    z.object({
      name: z.string(),
      sensor_id: z.string(),
      source: z.string(),
      key: z.string(),
      last_seen: z.string(),
      formats: z.array(z.string()),
      accepted_per_hour: z.number(),
      today: sensorRecords,
      seven_days: sensorRecords,
    }),
  ),
  metadata: z.object({ stored_from: z.string(), stored_to: z.string(), lag: z.array(z.unknown()) }),
});

async function list(key: string) {
  const { status, body } = await world.get("/v3/sensors", { key });
  expect(status).toBe(200);
  return listSchema.parse(body);
}

/**
 * Counted row by row. A process writes its count so far: of its rows for the same, the largest is the count.
 * @param workspaces those that are shown, with an empty text for what belongs to none.
 */
function expectedSensors(workspaces: readonly string[]) {
  const recent = rows.filter(({ hour }) => hour > Math.floor(NOW / HOUR) * HOUR - 7 * DAY);
  const hidden = new Set(recent.filter(({ workspaceId }) => !workspaces.includes(workspaceId)).map(nameOf));
  const counts = new Map<string, ActivityRow>();
  for (const row of recent) {
    const { hour, source, keyId, workspaceId, sensorId, format, outcome, process } = row;
    const isOfNone = workspaceId === "" && outcome !== "accepted";
    if (!workspaces.includes(workspaceId) || (isOfNone && hidden.has(nameOf(row)))) continue;
    const name = JSON.stringify([hour, source, keyId, workspaceId, sensorId, format, outcome, process]);
    const known = counts.get(name) ?? row;
    const lastAt = Math.max(known.lastAt, row.lastAt);
    counts.set(name, { ...row, records: Math.max(known.records, row.records), lastAt });
  }
  const names = [...new Set([...counts.values()].map(nameOf))].toSorted();
  return names.map((name) => summarize([...counts.values()].filter((row) => nameOf(row) === name)));
}

const nameOf = ({ source, keyId, sensorId }: ActivityRow) => `${source}\n${keyId}\n${sensorId}`;

function summarize(of: readonly ActivityRow[]) {
  const sum = (some: readonly ActivityRow[]) => some.reduce((total, { records }) => total + records, 0);
  const records = (since: number) => {
    const some = of.filter(({ hour }) => hour >= since);
    const having = (outcome: string) => some.filter((row) => row.outcome === outcome);
    const reasons = OUTCOMES.slice(2).filter((reason) => having(reason).length > 0);
    return {
      accepted: sum(having("accepted")),
      ignored: sum(having("ignored")),
      rejected: sum(reasons.flatMap(having)),
      reasons: Object.fromEntries(reasons.map((reason) => [reason, sum(having(reason))])),
    };
  };
  const [{ source, keyId, sensorId } = { source: "", keyId: "", sensorId: "" }] = of;
  const ofDay = of.filter(({ hour, outcome }) => outcome === "accepted" && hour > Math.floor(NOW / HOUR) * HOUR - DAY);
  return {
    name: sensorId || (isStored(keyId) ? `label of ${keyId}` : keyId) || "(no name)",
    sensor_id: sensorId,
    source,
    key: keyId,
    last_seen: formatTimestamp(Math.max(...of.map(({ lastAt }) => lastAt))),
    formats: [...new Set(of.map(({ format }) => format))].filter((format) => format !== "").toSorted(),
    accepted_per_hour: Number((sum(ofDay) / 24).toFixed(2)),
    today: records(Math.floor(NOW / DAY) * DAY),
    seven_days: records(0),
  };
}

test.each<[string, string, readonly Entitlement[], readonly string[]]>([
  ["its own alone", "team-a", [], ["team-a"]],
  ["with `sensors` its own and those of the shared datasets", "team-b", ["sensors"], ["team-b", ""]],
  ["with another entitlement its own alone", "team-c", ["community_dataset"], ["team-c"]],
  ["with all entitlements none of another workspace", "team-c", ["community_dataset", "sensors"], [""]],
])("a workspace sees %s, each with its exact counts", async (_what, workspaceId, entitlements, workspaces) => {
  const { sensors } = await list(await world.addCaller("unlimited", entitlements, workspaceId));
  const expected = expectedSensors(workspaces);
  expect(sensors).toEqual(expected);
  expect(sensors.length > 0).toBe(workspaceId !== "team-c" || entitlements.includes("sensors"));
});

test("without a key the sensors are not shown, and a key that is not known is a 401", async () => {
  expect(await world.get("/v3/sensors", {})).toMatchObject({ status: 403 });
  expect(await world.get("/v3/sensors", { key: "nf_unknown" })).toMatchObject({ status: 401 });
});

test("the newest lag of each topic is shown to those who may see the shared sensors", async () => {
  const lagOf = async (key: string) => (await list(key)).metadata.lag;
  for (const [topic, messages, age] of [
    ["scan.observations", 7_000, 20_000],
    ["scan.observations", 12, 10_000],
    ["cowrie", 0, DAY],
    ["no longer read", 5, 8 * DAY],
  ] as const) {
    await consumerLag.write(world.client, [{ topic, messages, seenAt: NOW - age }]);
  }
  const at = (age: number) => `${new Date(NOW - age).toISOString().slice(0, 19)}Z`;
  expect(await lagOf(await world.addCaller("unlimited", ["sensors"]))).toEqual([
    { topic: "cowrie", messages: 0, at: at(DAY) },
    { topic: "scan.observations", messages: 12, at: at(10_000) },
  ]);
  expect(await lagOf(await world.addCaller("unlimited"))).toEqual([]);
  await world.client.command({ query: "TRUNCATE TABLE consumer_lag" });
});

test("metadata says from when to when the caller's own dataset holds observations", async () => {
  const key = await world.addCaller("unlimited", ["sensors"]);
  expect((await list(key)).metadata).toEqual({ stored_from: "", stored_to: "", lag: [] });
  const at = (time: string, dataset: string) => ({
    observed_at: time,
    sensor_id: "berlin-1",
    source_ip: "45.0.0.1",
    dataset,
  });
  await world.store([
    at("2026-11-02T23:59:59.999Z", "global"),
    at("2026-11-19T08:00:00Z", "global"),
    at("2026-11-01T08:00:00Z", "community"),
  ]);
  expect((await list(key)).metadata).toMatchObject({
    stored_from: "2026-11-02T23:00:00Z",
    stored_to: "2026-11-19T09:00:00Z",
  });
});
