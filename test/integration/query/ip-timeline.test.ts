import { afterAll, beforeAll, expect, test } from "vitest";
import { type Marked, toWire } from "../../support/builders/marked-observations.ts";
import { expectedInteraction } from "../../support/oracle/noise-oracle.ts";
import { rfc3339 } from "../../support/oracle/oracle.ts";
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

test("each tag of an address has the times of its first and last observation, and how many there are", async () => {
  const path = "/v3/noise/ips/45.0.0.1/tags";
  expect(await world.get(path)).toMatchObject({
    status: 200,
    body: {
      ip: "45.0.0.1",
      tags: [
        {
          slug: "probe",
          intention: "suspicious",
          first_seen: rfc3339(FIRST),
          last_seen: rfc3339(LAST),
          observations: 2,
        },
        { slug: "worm", intention: "malicious", first_seen: rfc3339(LAST), last_seen: rfc3339(LAST), observations: 1 },
      ],
    },
  });
  expect(await world.get(`${path}?workspace_labels=community`, {})).toMatchObject({ status: 200, body: { tags: [] } });
  expect(await world.get("/v3/noise/ips/45.0.0.2/tags")).toEqual({
    status: 200,
    body: { ip: "45.0.0.2", tags: [] },
  });
});

/** A visit to a sensor that lets everyone in. */
const visit = (number: number, more: Partial<Marked>): Marked => ({
  ip: "45.0.0.7",
  at: LAST - number,
  mark: "",
  dataset: "global",
  tagIds: [],
  observationId: `visit-${number}`,
  sensorId: "cowrie",
  ...{ port: 22, transport: "tcp", method: undefined, path: undefined, userAgent: undefined },
  ...{ ja3: undefined, ja4: undefined, hassh: undefined },
  ...{ asn: undefined, organization: undefined, country: undefined, city: undefined, rdns: undefined },
  ...more,
});

test("credentials, commands, URLs and files of an address are the 100 most frequent, beside how many there are", async () => {
  const script = "<script>alert(1)</script>";
  const visits = Array.from({ length: 150 }, (_, n) =>
    visit(n, {
      credentials: [
        { username: "root", password: `${n % 120}` },
        { username: "root", password: `${n % 120}` },
        { username: n % 2 === 0 ? script : "ünï\u202e", password: "" },
        ...(n % 3 === 0 ? [{}] : []),
      ],
      loginAttempts: n,
      commands: ["uname -a", "uname -a", "", `echo '${script}' ${n}`],
      urls: n % 5 === 0 ? [`http://45.0.0.9/${n % 7}`] : [],
      payloads: n === 0 ? ["e".repeat(64)] : [],
    }),
  );
  // The first one twice: it counts once, with its latest content.
  const older = { ...visits[0], commands: ["older"], loginAttempts: 1_000 };
  expect((await world.store([{ ...toWire(visit(0, older)) }])).rejected).toEqual([]);
  expect((await world.store(visits.map(toWire))).rejected).toEqual([]);
  const { status, body } = await world.get("/v3/noise/ips/45.0.0.7/interaction");
  const known = { seen: visits, tags: [], serviceOf: () => undefined, actorOf: () => undefined };
  expect({ status, body }).toEqual({ status: 200, body: expectedInteraction("45.0.0.7", known) });
  expect(body).toMatchObject({
    login_attempts: (149 * 150) / 2,
    total_credentials: 123,
    total_commands: 151,
    total_urls: 7,
    total_payloads: 1,
    commands: { length: 100, 0: { command: "uname -a", observations: 150 } },
    credentials: { length: 100, 0: { username: script, password: "", observations: 75 } },
  });
  const nothing = (await world.get("/v3/noise/ips/45.0.0.2/interaction")).body;
  expect(nothing).toEqual(expectedInteraction("45.0.0.2", known));
  expect((await world.get("/v3/noise/ips/45.0.0.7/interaction?workspace_labels=community")).body).toMatchObject({
    login_attempts: 0,
    total_commands: 0,
  });
});

test.each(["tags", "interaction"])("a bad question for the %s of an address is rejected", async (details) => {
  for (const [path, headers, status] of [
    [`10.0.0.1/${details}`, {}, 400],
    [`45.0.0/${details}`, {}, 400],
    [`45.0.0.1/${details}?workspace_labels=x`, {}, 400],
    [`45.0.0.1/${details}?workspace_labels=personal`, {}, 400],
    [`45.0.0.1/${details}`, { key: "made-up" }, 401],
  ] as const) {
    expect([path, (await world.get(`/v3/noise/ips/${path}`, headers)).status]).toEqual([path, status]);
  }
});
