import { runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import {
  GLOBAL,
  openSensorKeyWorld,
  type SensorKeyWorld,
  SHARED_KEY,
  TEAM_A,
  TEAM_B,
} from "../../support/intake/sensor-key-world.ts";
import { atVolume } from "../../support/volume.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { freshKafka, ingestOf, readTopic } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { makeTag } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
let keys: SensorKeyWorld;

beforeEach(async () => {
  keys = await openSensorKeyWorld(now);
});
afterEach(() => keys.close());

test.each([
  [
    "states no scope is published with the scope of its key",
    {},
    { tags: [], dataset: "personal", workspace_id: "team-a" },
  ],
  ["states its scope is published byte for byte", { dataset: "personal", workspace_id: "team-a" }, {}],
])("through a topic, an observation that %s", async (_, members, added) => {
  const key = await keys.addKey(TEAM_A);
  const kafka = await freshKafka();
  const ingest = await ingestOf(keys.world, kafka, now);
  const published = await makeApp(INGEST_OPERATIONS, ingest.register);
  const sent = keys.observation({ observation_id: "one", metadata: { port: 22 }, ...members });
  const foreign = keys.observation({ dataset: "personal", workspace_id: TEAM_B.workspaceId });
  expect(await keys.post([foreign, sent], key, published)).toMatchObject({ body: { accepted: 1, rejected: 1 } });
  const [message] = await readTopic(kafka, kafka.topic, 1);
  expect(JSON.parse(String(message?.value))).toEqual({ ...sent, ...added });
  if (Object.keys(added).length === 0) expect(String(message?.value)).toBe(JSON.stringify(sent));

  await ingest.start();
  await eventually(async () =>
    expect(await keys.readScopes()).toEqual([{ ip: sent.source_ip, scope: "personal/team-a" }]),
  );
  await ingest.stop();
  await published.close();
});

/** How an observation gets into the store. */
const ROUTES = [...atVolume([], [["directly"]]), ["through a topic"]];

/** An intake that stores observations by this route, with a key in `SENSOR_KEYS`. */
async function openIntake(route: string | undefined) {
  const kafka = route === "through a topic" ? await freshKafka() : undefined;
  const ingest = await ingestOf(keys.world, kafka, now, [SHARED_KEY]);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  await ingest.start();
  keys.world.beforeClose(async () => {
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
  (await run(keys.world.client, storedCopies, {})).map((row) => `${row.sensor} ${row.path} ${row.copies}`);

test.each(ROUTES)(
  "%s, a key made for one sensor sends for no other, and for that one if an observation names none",
  async (route) => {
    const { app } = await openIntake(route);
    const key = await keys.addKey(GLOBAL, "cellar");
    const { sensor_id: _, ...unnamed } = keys.observation({ http: { path: "/left-out" } });
    const named = keys.observation({ sensor_id: "cellar", http: { path: "/named" } });
    expect(await keys.post([unnamed, named, keys.observation({ sensor_id: "roof" })], key, app)).toMatchObject({
      status: 202,
      body: {
        accepted: 2,
        rejections: [
          { position: 3, reason: "not-permitted", detail: expect.stringContaining('for the sensor "cellar"') },
        ],
      },
    });
    await eventually(async () => expect(await copies()).toEqual(["cellar /left-out 1", "cellar /named 1"]));
    expect(
      await keys.post([unnamed], await keys.addKey(GLOBAL), app),
      "any other key has to name the sensor",
    ).toMatchObject({
      body: { rejections: [{ reason: "invalid-observation", detail: "sensor_id: is missing" }] },
    });
  },
);

test.each(ROUTES)(
  "%s, the same id from the same key is one observation, and no key overwrites another's",
  async (route) => {
    const { app } = await openIntake(route);
    const senders = { settings: SHARED_KEY, first: await keys.addKey(GLOBAL), second: await keys.addKey(GLOBAL) };
    const bound = { bound: await keys.addKey(GLOBAL, "s"), replacement: await keys.addKey(GLOBAL, "s") };
    const same = keys.observation({ observation_id: "one" });
    const sent = (path: string) => ({ ...same, http: { path } });
    const more = keys.observation({ sensor_id: "s" });
    // Sent twice, in other batches: a replay changes no answer.
    for (const [name, key] of Object.entries(senders)) {
      await keys.post([sent(name), more], key, app);
      await keys.post([sent(name)], key, app);
    }
    for (const key of Object.values(bound)) await keys.post([sent("bound")], key, app);
    // The observations in `more` have no path.
    await eventually(async () =>
      expect((await copies()).filter((line) => !line.startsWith("s  "))).toEqual([
        "s bound 1",
        "s first 1",
        "s second 1",
        "s settings 1",
      ]),
    );
    const { body } = await keys.world.get(`/v3/ip/${same.source_ip}`);
    expect(body).toMatchObject({ internet_scanner_intelligence: { metadata: { sensor_count: 1, sensor_hits: 4 } } });
  },
);

test("a retried dead letter gets the same id as when its key sends it again", async () => {
  const { app, kafka } = await openIntake("through a topic");
  const senders = [await keys.addKey(GLOBAL), await keys.addKey(GLOBAL), await keys.addKey(GLOBAL, "s"), SHARED_KEY];
  const sent = keys.observation({ observation_id: "one", tags: ["not-yet"] });
  const { sensor_id: _, ...unnamed } = sent;
  for (const [index, key] of senders.entries()) {
    expect(await keys.post([index === 2 ? unnamed : sent], key, app)).toMatchObject({ body: { rejected: 1 } });
  }
  await keys.world.addTags([makeTag("not-yet", "unknown")]);
  const { all, ...options } = { all: true, dryRun: false, overridePermission: false, json: true };
  await runDeadLettersRetry([], { all, ...options }, commandOver(keys.world, kafka));
  const hits = async () => (await keys.world.get(`/v3/ip/${sent.source_ip}`)).body;
  const expected = { internet_scanner_intelligence: { metadata: { sensor_count: 1, sensor_hits: 4 } } };
  expect(await hits()).toMatchObject(expected);
  for (const key of senders)
    expect(await keys.post([sent], key, keys.guarded)).toMatchObject({ body: { accepted: 1 } });
  expect(await hits()).toMatchObject(expected);
});
