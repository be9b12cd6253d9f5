import { randomUUID } from "node:crypto";
import { runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { runSensorsCreate, runSensorsList } from "@noisefloor/cli/commands/sensors.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { readSensorKeys, writeSensorKey } from "@noisefloor/clickhouse/tables/sensor-keys.ts";
import { hashKey } from "@noisefloor/clickhouse/tables/workspaces.ts";
import type { Scope } from "@noisefloor/domain/scope.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service.ts";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { addressOf, observation as observationOf } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { freshKafka, ingestOf, readTopic } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
const SHARED_KEY = "key-of-the-settings";
const UNAUTHORIZED = { status: 401, body: { message: "Unauthorized" } };

const GLOBAL: Scope = { dataset: "global", workspaceId: "" };
const COMMUNITY: Scope = { dataset: "community", workspaceId: "" };
const OF_A: Scope = { dataset: "personal", workspaceId: "team-a" };
const OF_B: Scope = { dataset: "personal", workspaceId: "team-b" };

let world: World;
/** An intake without keys of its own, and one with. */
let open: FastifyInstance;
let guarded: FastifyInstance;

beforeEach(async () => {
  world = await createWorld(now, { pollIntervalMs: 1_000 });
  open = await makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, now)).register);
  guarded = await makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, now, [SHARED_KEY])).register);
});
afterEach(async () => {
  await open.close();
  await guarded.close();
  await world.close();
});

/** Makes a key and does not wait for anybody to notice. @param sensorId the one sensor that it is for. */
async function makeKey({ dataset, workspaceId }: Scope, sensorId = ""): Promise<string> {
  const key = randomUUID();
  const made = Date.now();
  const keyId = randomUUID();
  const sha256 = hashKey(key);
  const stored = { keyId, label: "", dataset, workspaceId, sensorId, sha256, createdAt: made, isRevoked: false };
  await writeSensorKey(world.client, stored, made);
  return key;
}

async function addKey(room: Scope, sensorId?: string): Promise<string> {
  const key = await makeKey(room, sensorId);
  await world.sensors.refresh();
  return key;
}

async function revoke(key: string): Promise<void> {
  const stored = (await readSensorKeys(world.client)).find(({ sha256 }) => sha256 === hashKey(key));
  if (stored === undefined) throw new Error("the key is not stored");
  await writeSensorKey(world.client, { ...stored, isRevoked: true }, Date.now() + 1);
}

let posted = 0;
/** An observation of an address that no other one has. */
function observation(members: object = {}) {
  posted++;
  return observationOf(addressOf(posted, 2), NOW - 1_000, members);
}

async function post(observations: readonly object[], key?: string, to = open) {
  const response = await to.inject({
    method: "POST",
    url: "/v1/observations",
    payload: observations.map((sent) => JSON.stringify(sent)).join("\n"),
    ...(key === undefined ? {} : { headers: { key } }),
  });
  return { status: response.statusCode, body: response.json() };
}

const storedRooms = defineQuery({
  name: "test-stored-rooms",
  sql: "SELECT toString(source_ip) AS ip, concat(dataset, '/', workspace_id) AS room FROM observations FINAL",
  params: z.object({}),
  row: z.object({ ip: z.string(), room: z.string() }),
});

const deadLetters = defineQuery({
  name: "test-dead-letters",
  sql: "SELECT reason, payload FROM dead_letters FINAL WHERE source = 'http' ORDER BY position",
  params: z.object({}),
  row: z.object({ reason: z.string(), payload: z.string() }),
});

/** What an observation can say of where it belongs. */
const STATED = {
  nothing: {},
  global: { dataset: "global" },
  community: { dataset: "community" },
  personal: { dataset: "personal" },
  "personal of a": { dataset: "personal", workspace_id: "team-a" },
  "personal of b": { dataset: "personal", workspace_id: "team-b" },
  "workspace a": { workspace_id: "team-a" },
  "global of a": { dataset: "global", workspace_id: "team-a" },
};
type Statement = keyof typeof STATED;

/** For each right what it lets in, and where that then is; all else is refused. */
const RIGHTS: [name: string, room: Scope | undefined, taken: Partial<Record<Statement, string>>][] = [
  ["the settings", undefined, { nothing: "global/", global: "global/", community: "community/" }],
  ["the global dataset", GLOBAL, { nothing: "global/", global: "global/" }],
  ["the community dataset", COMMUNITY, { nothing: "community/", community: "community/" }],
  [
    "workspace a",
    OF_A,
    {
      nothing: "personal/team-a",
      personal: "personal/team-a",
      "personal of a": "personal/team-a",
      "workspace a": "personal/team-a",
    },
  ],
  [
    "workspace b",
    OF_B,
    { nothing: "personal/team-b", personal: "personal/team-b", "personal of b": "personal/team-b" },
  ],
];

test.each(RIGHTS)(
  "a key of %s writes there and nowhere else; the rest is kept as dead letters",
  async (_, room, taken) => {
    const key = room === undefined ? SHARED_KEY : await addKey(room);
    const sent = Object.entries(STATED).map(([name, members]) => ({ name, sent: observation(members) }));
    const { status, body } = await post(
      sent.map((each) => each.sent),
      key,
      guarded,
    );
    expect(status).toBe(202);
    expect(body.accepted).toBe(Object.keys(taken).length);

    const rooms = new Map((await run(world.client, storedRooms, {})).map((row) => [row.ip, row.room]));
    expect(
      Object.fromEntries(
        sent.flatMap((each) => (rooms.has(each.sent.source_ip) ? [[each.name, rooms.get(each.sent.source_ip)]] : [])),
      ),
    ).toEqual(taken);
    expect(rooms.size).toBe(Object.keys(taken).length);

    const refused = sent.filter(({ name }) => !(name in taken));
    // A workspace where the dataset has none is a contradiction whoever says it; only a room's key refuses it as such.
    const isContradiction = (name: string) => room === undefined && ["workspace a", "global of a"].includes(name);
    expect(await run(world.client, deadLetters, {})).toEqual(
      refused.map((each) => ({
        reason: isContradiction(each.name) ? "invalid-observation" : "not-permitted",
        payload: JSON.stringify(each.sent),
      })),
    );
  },
);

test("without any key the shared datasets are open, and personal data is refused with a word on what it takes", async () => {
  const { status, body } = await post([
    observation(),
    observation({ dataset: "community" }),
    observation({ dataset: "personal", workspace_id: "team-a" }),
  ]);
  expect({ status, body }).toMatchObject({
    status: 202,
    body: {
      accepted: 2,
      reasons: { "not-permitted": 1 },
      rejections: [
        { position: 3, reason: "not-permitted", detail: expect.stringContaining("global and community only") },
      ],
    },
  });
});

test("what a workspace's sensor sent is read by that workspace and by nobody else", async () => {
  const sent = observation();
  expect(await post([sent], await addKey(OF_A))).toMatchObject({ status: 202, body: { accepted: 1 } });
  const [ofA, ofB] = [
    await world.addCaller("unlimited", ["community_dataset"], OF_A.workspaceId),
    await world.addCaller("unlimited", ["community_dataset"], OF_B.workspaceId),
  ];
  const found = async (key: string, scopes: string) => {
    const { body } = await world.get(`/v3/ip/${sent.source_ip}?workspace_labels=${scopes}`, { key });
    return z.object({ internet_scanner_intelligence: z.object({ found: z.boolean() }) }).parse(body)
      .internet_scanner_intelligence.found;
  };
  expect(await found(ofA, "personal")).toBe(true);
  expect(await found(ofA, "global,community")).toBe(false);
  expect(await found(ofB, "global,community,personal")).toBe(false);
  expect((await world.get(`/v3/community/${sent.source_ip}`, { key: ofA })).status).toBe(404);
});

test("the first key closes the intake to those without one, and revoking the last does not open it again", async () => {
  expect((await post([observation()])).status).toBe(202);
  const key = await makeKey(OF_A);
  await eventually(async () => {
    expect((await post([observation()], key)).status).toBe(202);
    expect(await post([observation()])).toEqual(UNAUTHORIZED);
  }, 5_000);
  await revoke(key);
  await eventually(async () => expect(await post([observation()], key)).toEqual(UNAUTHORIZED), 5_000);
  expect(await post([observation()])).toEqual(UNAUTHORIZED);
});

test("a key that nobody made is refused, also while none is asked for: its data would land in another room", async () => {
  expect(await post([observation()], "not-known")).toEqual(UNAUTHORIZED);
  expect(await post([observation()], "not-known", guarded)).toEqual(UNAUTHORIZED);
  expect((await post([observation()], "")).status).toBe(202);
});

test("keys of the settings and of the store work side by side, and a revoked one ends alone", async () => {
  const [first, second] = [await addKey(OF_A), await addKey(OF_A)];
  for (const key of [SHARED_KEY, first, second]) expect((await post([observation()], key, guarded)).status).toBe(202);
  await revoke(first);
  await eventually(async () => expect(await post([observation()], first, guarded)).toEqual(UNAUTHORIZED), 5_000);
  for (const key of [SHARED_KEY, second]) expect((await post([observation()], key, guarded)).status).toBe(202);
  expect(await post([observation()], undefined, guarded)).toEqual(UNAUTHORIZED);
});

test("a key that the store and the settings both know writes to its room, the narrower right", async () => {
  const key = await addKey(OF_A);
  const both = await makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, now, [key])).register);
  expect(await post([observation({ dataset: "global" })], key, both)).toMatchObject({ body: { rejected: 1 } });
  await both.close();
});

test("a revocation counts whatever the clock of the machine says that it is made on", async () => {
  const key = await addKey(OF_A);
  const [stored] = await readSensorKeys(world.client);
  if (stored === undefined) throw new Error("the key is not stored");
  await writeSensorKey(world.client, { ...stored, isRevoked: true }, stored.createdAt - 3_600_000);
  await eventually(async () => expect(await post([observation()], key)).toEqual(UNAUTHORIZED), 5_000);
});

test("the key itself is stored nowhere", async () => {
  const key = await addKey(OF_A);
  expect(JSON.stringify(await readSensorKeys(world.client))).not.toContain(key);
});

test.each([
  [
    "leaves out where it belongs travels with what its key says",
    {},
    { tags: [], dataset: "personal", workspace_id: "team-a" },
  ],
  ["says where it belongs travels in its own bytes", { dataset: "personal", workspace_id: "team-a" }, {}],
])("through a topic an observation that %s", async (_, members, added) => {
  const key = await addKey(OF_A);
  const kafka = freshKafka();
  const ingest = await ingestOf(world, kafka, now);
  const published = await makeApp(INGEST_OPERATIONS, ingest.register);
  const sent = observation({ observation_id: "one", metadata: { port: 22 }, ...members });
  const foreign = observation({ dataset: "personal", workspace_id: OF_B.workspaceId });
  expect(await post([foreign, sent], key, published)).toMatchObject({ body: { accepted: 1, rejected: 1 } });
  const [message] = await readTopic(kafka, kafka.topic, 1);
  expect(JSON.parse(String(message?.value))).toEqual({ ...sent, ...added });
  if (Object.keys(added).length === 0) expect(String(message?.value)).toBe(JSON.stringify(sent));

  await ingest.start();
  await eventually(async () =>
    expect(await run(world.client, storedRooms, {})).toEqual([{ ip: sent.source_ip, room: "personal/team-a" }]),
  );
  await ingest.stop();
  await published.close();
});

/** The intakes that an observation can take: straight into the store, or through a topic. */
const WAYS = [["straight into the store"], ["through a topic"]];

/** An intake of one of these ways, with a key of the settings. @returns also what waits until so many are stored. */
async function openWay(way: string | undefined) {
  const kafka = way === "through a topic" ? freshKafka() : undefined;
  const ingest = await ingestOf(world, kafka, now, [SHARED_KEY]);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  await ingest.start();
  onTestFinished(async () => {
    await ingest.stop();
    await app.close();
  });
  return { app, kafka };
}

const storedCopies = defineQuery({
  name: "test-stored-copies",
  sql: `SELECT sensor_id AS sensor, http_path AS path, toUInt32(count()) AS copies FROM observations
    FINAL GROUP BY sensor, path ORDER BY sensor, path`,
  params: z.object({}),
  row: z.object({ sensor: z.string(), path: z.string(), copies: z.int() }),
});
const copies = async () =>
  (await run(world.client, storedCopies, {})).map((row) => `${row.sensor} ${row.path} ${row.copies}`);

test.each(WAYS)(
  "%s a key made for one sensor sends for no other, and for that one where none is named",
  async (way) => {
    const { app } = await openWay(way);
    const key = await addKey(GLOBAL, "cellar");
    const { sensor_id: _, ...unnamed } = observation({ http: { path: "/left-out" } });
    const named = observation({ sensor_id: "cellar", http: { path: "/named" } });
    expect(await post([unnamed, named, observation({ sensor_id: "roof" })], key, app)).toMatchObject({
      status: 202,
      body: {
        accepted: 2,
        rejections: [
          { position: 3, reason: "not-permitted", detail: expect.stringContaining('for the sensor "cellar"') },
        ],
      },
    });
    await eventually(async () => expect(await copies()).toEqual(["cellar /left-out 1", "cellar /named 1"]));
    expect(await post([unnamed], await addKey(GLOBAL), app), "any other key has to name the sensor").toMatchObject({
      body: { rejections: [{ reason: "invalid-observation", detail: "sensor_id: is missing" }] },
    });
  },
);

test.each(WAYS)("%s the same id from the same key is one observation, and no key overwrites another's", async (way) => {
  const { app } = await openWay(way);
  const keys = { settings: SHARED_KEY, first: await addKey(GLOBAL), second: await addKey(GLOBAL) };
  const bound = { bound: await addKey(GLOBAL, "s"), replacement: await addKey(GLOBAL, "s") };
  const same = observation({ observation_id: "one" });
  const sent = (path: string) => ({ ...same, http: { path } });
  const more = observation({ sensor_id: "s" });
  // Twice, and with other batch edges: replays change no answer.
  for (const [name, key] of Object.entries(keys)) {
    await post([sent(name), more], key, app);
    await post([sent(name)], key, app);
  }
  for (const key of Object.values(bound)) await post([sent("bound")], key, app);
  // Those of `more` have no path.
  await eventually(async () =>
    expect((await copies()).filter((line) => !line.startsWith("s  "))).toEqual([
      "s bound 1",
      "s first 1",
      "s second 1",
      "s settings 1",
    ]),
  );
  const { body } = await world.get(`/v3/ip/${same.source_ip}`);
  expect(body).toMatchObject({ internet_scanner_intelligence: { metadata: { sensor_count: 1, sensor_hits: 4 } } });
});

test("a retried dead letter has the id that its key's other observations have", async () => {
  const { app, kafka } = await openWay("through a topic");
  const keys = [await addKey(GLOBAL), await addKey(GLOBAL), await addKey(GLOBAL, "s"), SHARED_KEY];
  const sent = observation({ observation_id: "one", tags: ["not-yet"] });
  const { sensor_id: _, ...unnamed } = sent;
  for (const [index, key] of keys.entries()) {
    expect(await post([index === 2 ? unnamed : sent], key, app)).toMatchObject({ body: { rejected: 1 } });
  }
  await world.addTags([makeTag("not-yet", "unknown")]);
  const { all, ...options } = { all: true, dryRun: false, overridePermission: false, json: true };
  await runDeadLettersRetry([], { all, ...options }, commandOver(world, kafka));
  const hits = async () => (await world.get(`/v3/ip/${sent.source_ip}`)).body;
  const expected = { internet_scanner_intelligence: { metadata: { sensor_count: 1, sensor_hits: 4 } } };
  expect(await hits()).toMatchObject(expected);
  for (const key of keys) expect(await post([sent], key, guarded)).toMatchObject({ body: { accepted: 1 } });
  expect(await hits()).toMatchObject(expected);
});

test("a key's sensor is chosen when it is made, and listed", async () => {
  await addKey(GLOBAL);
  const command = commandOver(world);
  const options = { dataset: "global", label: "", json: true, yes: true };
  await runSensorsCreate({ ...options, sensorId: "cellar" }, command);
  const made = z.object({ key: z.string(), sensor: z.literal("cellar") }).parse(JSON.parse(command.lines[0] ?? ""));
  await world.sensors.refresh();
  expect(await post([observation({ sensor_id: "roof" })], made.key)).toMatchObject({ body: { rejected: 1 } });
  await runSensorsList({ json: true }, command);
  expect(JSON.parse(command.lines[1] ?? "")).toMatchObject([{ sensor: "" }, { sensor: "cellar" }]);
  await expect(runSensorsCreate({ ...options, sensorId: "a\nb" }, command)).rejects.toThrow("--sensor-id takes");
});
