import { afterAll, beforeAll, expect, test } from "vitest";
import { dateOf, FIRST_AGE_MS, LAST_AGE_MS, openAddressWorld } from "../../support/query/address-world.ts";
import type { World } from "../../support/worlds/world.ts";

const HOUR = 3_600_000;
const NOW = Date.now();
const FIRST = NOW - FIRST_AGE_MS;
const LAST = NOW - LAST_AGE_MS;
let world: World;

beforeAll(async () => {
  world = await openAddressWorld(NOW);
});
afterAll(() => world.close());

const hourOf = (time: number) => `${new Date(Math.floor(time / HOUR) * HOUR).toISOString().slice(0, 19)}Z`;
const dayOf = (time: number) => `${dateOf(time)}T00:00:00Z`;

test("a timeline counts distinct observations per bucket and label, newest first", async () => {
  const at = async (query: string) => (await world.get(`/v3/noise/ips/45.0.0.1/timeline?${query}`)).body;
  expect(await at("days=90&field=destination_port&granularity=1h")).toEqual({
    metadata: {
      ip: "45.0.0.1",
      field: "destination_port",
      first_seen: dateOf(FIRST),
      granularity: "1h",
      metric: "count",
      start: `${new Date(NOW - 90 * 24 * HOUR).toISOString().slice(0, 19)}Z`,
      end: `${new Date(NOW).toISOString().slice(0, 19)}Z`,
    },
    results: [
      { data: 1, label: "80", timestamp: hourOf(LAST) },
      { data: 1, label: "80", timestamp: hourOf(LAST - HOUR) },
      { data: 1, label: "445", timestamp: hourOf(FIRST) },
    ],
  });
  expect(await at("days=90&granularity=90d")).toMatchObject({ metadata: { field: "classification" } });
  expect(await at("days=60&granularity=1h")).toMatchObject({
    results: [
      { label: "malicious", timestamp: hourOf(LAST) },
      { label: "unknown", timestamp: hourOf(LAST - HOUR) },
      { label: "suspicious", timestamp: hourOf(FIRST) },
    ],
  });
  expect(await at("days=60&field=source_org")).toMatchObject({
    results: [
      { data: 1, label: "FPT", timestamp: dayOf(LAST) },
      { data: 1, label: "Old Org", timestamp: dayOf(FIRST) },
    ],
  });
  expect(await at("field=source_asn")).toMatchObject({ results: [{ data: 1, label: "AS18403" }] });
});

test("the timeline of an address without activity is empty, and bad parameters name themselves", async () => {
  expect(await world.get("/v3/noise/ips/45.0.0.2/timeline")).toMatchObject({
    status: 200,
    body: { metadata: { first_seen: "" }, results: [] },
  });
  for (const query of [
    "days=0",
    "field=nothing",
    "granularity=25h",
    "granularity=91d",
    "granularity=0d",
    "workspace_labels=x",
  ]) {
    expect(await world.get(`/v3/noise/ips/45.0.0.1/timeline?${query}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(query.split("=")[0] ?? "?") },
    });
  }
  expect((await world.get("/v3/noise/ips/45.0.0.1/timeline?workspace_labels=personal", {})).status).toBe(400);
  expect((await world.get("/v3/noise/ips/45.0.0.1/timeline?workspace_labels=community", {})).status).toBe(200);
});
