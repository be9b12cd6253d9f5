import { gzipSync } from "node:zlib";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { expectDescribed } from "../../support/oracle/description.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:30:00Z");
const KEY = "key-of-the-settings";
const OTLP = "/v1/logs";
const LOKI = "/loki/api/v1/push";
let world: World;
let app: FastifyInstance;
let lastAddress = 0;
let ip = "";

beforeAll(async () => {
  world = await createWorld(() => NOW);
  app = await makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, () => NOW, [KEY])).register);
});
afterAll(async () => {
  await app.close();
  await world.close();
});
beforeEach(() => {
  ip = `45.83.70.${++lastAddress}`;
});

type Body = string | Buffer | object;
async function post(url: string, body: Body, headers: Record<string, string> = {}) {
  const payload = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const response = await app.inject({ method: "POST", url, payload, headers: { key: KEY, ...headers } });
  const answer: unknown = response.body === "" ? undefined : response.json();
  if (response.statusCode !== 204) expectDescribed("POST", url, response.statusCode, answer);
  return { status: response.statusCode, body: answer };
}

const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1_000).toISOString();
const nanoseconds = (secondsAgo: number) => `${NOW - secondsAgo * 1_000}000000`;
const cowrie = (event: string, members: object = {}) =>
  JSON.stringify({ eventid: `cowrie.${event}`, src_ip: ip, session: ip, timestamp: at(60), ...members });
const REJECTED = JSON.stringify({ nobody: "knows this" });

type Value = { readonly [kind: string]: unknown };
const text = (stringValue: string): Value => ({ stringValue });
const attributes = (named: Record<string, string>) =>
  Object.entries(named).map(([key, value]) => ({ key, value: text(value) }));
const logs = (bodies: readonly (Value | undefined)[], resource: Record<string, string> = {}, secondsAgo = 60) => ({
  resourceLogs: [
    {
      resource: { attributes: attributes(resource) },
      scopeLogs: [{ logRecords: bodies.map((body) => ({ timeUnixNano: nanoseconds(secondsAgo), body })) }],
    },
  ],
});
const streams = (lines: readonly string[], labels: Record<string, string> = {}, secondsAgo = 60) => ({
  streams: [{ stream: labels, values: lines.map((line) => [nanoseconds(secondsAgo), line]) }],
});

/** Each way in, with the same lines. */
const WAYS = [
  [OTLP, (lines: readonly string[], names = {}) => logs(lines.map(text), names)],
  [LOKI, streams],
] as const;

const stored = defineQuery({
  name: "test-stored",
  sql: `SELECT sensor_id AS sensor, toUnixTimestamp64Milli(observed_at) AS at, login_attempts AS logins, destination_port AS port,
      application FROM observations FINAL WHERE source_ip = toIPv6({ip:String})`,
  params: z.object({ ip: z.string() }),
  row: z.object({
    sensor: z.string(),
    at: z.int(),
    logins: z.int(),
    port: z.int().nullable(),
    application: z.string(),
  }),
});
const rows = () => run(world.client, stored, { ip });
const deadLetters = defineQuery({
  name: "test-dead-letters",
  sql: "SELECT reason, payload FROM dead_letters FINAL",
  params: z.object({}),
  row: z.object({ reason: z.string(), payload: z.string() }),
});
const isKept = async (reason: string, payload: string) =>
  (await run(world.client, deadLetters, {})).some((one) => one.reason === reason && one.payload === payload);
const counts = defineQuery({
  name: "test-sensor-counts",
  sql: "SELECT outcome, sum(records) AS records FROM sensor_activity FINAL GROUP BY outcome",
  params: z.object({}),
  row: z.object({ outcome: z.string(), records: z.int() }),
});

test.each(WAYS)(
  "%s: a visit in lines is one observation, however often it is sent, packed or not",
  async (url, write) => {
    const lines = [
      cowrie("session.connect", { dst_port: 22, protocol: "ssh" }),
      cowrie("login.failed", { username: "root" }),
    ];
    const body = JSON.stringify(write(lines, { "host.name": "pot", host: "pot" }));
    for (const sent of [body, gzipSync(body), body]) {
      const headers = Buffer.isBuffer(sent) ? { "content-encoding": "gzip" } : { "content-type": "application/json" };
      expect((await post(url, sent, headers)).status).toBe(url === OTLP ? 200 : 204);
    }
    expect(await rows()).toEqual([{ sensor: "pot", at: NOW - 60_000, logins: 1, port: 22, application: "ssh" }]);
  },
);

test("OTLP: a body of key-value pairs is an object, and what a resource says counts where a record says nothing", async () => {
  const pairs = [
    ...attributes({ eventid: "cowrie.login.failed", src_ip: ip, session: ip, protocol: "ssh" }),
    { key: "dst_port", value: { intValue: "22" } },
    { key: "ttylog", value: { arrayValue: { values: [text("a"), { boolValue: true }] } } },
    { key: "more", value: { kvlistValue: { values: [{ key: "a", value: { doubleValue: 1.5 } }, { key: "none" }] } } },
  ];
  const body = logs([{ kvlistValue: { values: pairs } }], { "k8s.pod.name": "pot-7", "service.name": "cowrie" }, 90);
  expect(await post(OTLP, body)).toEqual({ status: 200, body: {} });
  expect(await rows()).toEqual([{ sensor: "pot-7", at: NOW - 90_000, logins: 1, port: 22, application: "ssh" }]);
});

test("Loki: labels and the time of a line count where a record says nothing", async () => {
  const line = cowrie("login.failed", { timestamp: undefined, protocol: "ssh" });
  expect(await post(LOKI, streams([line], { job: "cowrie", hostname: "pot-8" }, 90))).toMatchObject({ status: 204 });
  expect(await rows()).toEqual([{ sensor: "pot-8", at: NOW - 90_000, logins: 1, port: null, application: "ssh" }]);
});

test("OTLP: a rejected record is a dead letter, its exporter hears of it and need not send it again", async () => {
  const good = cowrie("session.connect");
  const odd = { body: { intValue: "5" }, attributes: attributes({ a: "b" }) };
  const { resourceLogs } = logs([text(good), text(REJECTED), undefined, { kvlistValue: { values: [] } }]);
  const [first] = resourceLogs;
  const body = { resourceLogs: [first, { scopeLogs: [{ logRecords: [odd, 7] }] }, {}, { scopeLogs: null }] };
  expect(await post(OTLP, body)).toEqual({
    status: 200,
    body: {
      partialSuccess: { rejectedLogRecords: "5", errorMessage: expect.stringMatching(/^unknown-format: no format/) },
    },
  });
  expect(await rows()).toHaveLength(1);
  expect(await isKept("unknown-format", REJECTED)).toBe(true);
  expect(await isKept("unknown-format", JSON.stringify({ timeUnixNano: nanoseconds(60) }))).toBe(true);
});

test("OTLP: a body that is nested too deep or too large is a dead letter of its own", async () => {
  const nested = `${'{"arrayValue":{"values":['.repeat(5_000)}${"]}}".repeat(5_000)}`;
  const large = JSON.stringify({ kvlistValue: { values: [{ key: "a", value: text("b".repeat(1_100_000)) }] } });
  const json = JSON.stringify(logs([text(cowrie("session.connect")), text("NESTED"), text("LARGE")]));
  const sent = json.replace(JSON.stringify(text("NESTED")), nested).replace(JSON.stringify(text("LARGE")), large);
  expect(await post(OTLP, sent)).toMatchObject({ body: { partialSuccess: { rejectedLogRecords: "2" } } });
  expect(await rows()).toHaveLength(1);
  for (const payload of [nested, large]) expect(await isKept("oversize", payload)).toBe(true);
});

test("Loki: only a push of which nothing was accepted is an error, and what is rejected is a dead letter", async () => {
  const other = JSON.stringify({ nobody: "knows that" });
  expect(await post(LOKI, streams([REJECTED, cowrie("session.connect")]))).toMatchObject({ status: 204 });
  expect(await post(LOKI, streams([other, cowrie("session.closed")]))).toMatchObject({
    status: 400,
    body: { message: expect.stringMatching(/^unknown-format: /), accepted: 0, rejected: 1, ignored: 1 },
  });
  expect(await rows()).toHaveLength(1);
  for (const payload of [REJECTED, other]) expect(await isKept("unknown-format", payload)).toBe(true);
});

test.each(WAYS)("%s: every record that is sent is accepted, rejected or ignored", async (url, write) => {
  const ingest = await ingestOf(world, undefined, () => NOW);
  const counted = await makeApp(INGEST_OPERATIONS, ingest.register);
  const count = async () => new Map((await run(world.client, counts, {})).map((row) => [row.outcome, row.records]));
  const before = await count();
  const lines = [cowrie("session.connect"), `${cowrie("login.failed")}\n${REJECTED}`, cowrie("session.closed")];
  await counted.inject({ method: "POST", url, payload: JSON.stringify(write([...lines, url])) });
  await counted.close();
  // The counts are stored at the stop.
  await ingest.stop();
  const after = await count();
  const added = ["accepted", "unknown-format", "ignored"].map(
    (name) => (after.get(name) ?? 0) - (before.get(name) ?? 0),
  );
  expect(added).toEqual([2, 2, 1]);
});

test.each(WAYS)("%s: what is no such request is a 4xx that says why, and an empty one is none", async (url, write) => {
  for (const empty of [{}, { resourceLogs: [], streams: [] }, { resourceLogs: [{}], streams: [{}] }]) {
    expect((await post(url, empty)).status).toBe(url === OTLP ? 200 : 204);
  }
  for (const [body, message] of [
    ["", "The request body is empty"],
    ["{", "The request body is no JSON object"],
    [`${JSON.stringify(write(["a"]))}x`, "The request body is no JSON object"],
    ["[]", "The request body is no JSON object"],
    ['{"resourceLogs":{},"streams":1}', "A value in the body should be an array and is none"],
  ] as const) {
    expect(await post(url, body)).toMatchObject({ status: 400, body: { message } });
  }
  const tooMany = write(Array.from({ length: 50_001 }, () => "{}"));
  expect((await post(url, tooMany)).status).toBe(413);
  const protobuf = await post(url, Buffer.of(0x0a, 0x00), { "content-type": "application/x-protobuf" });
  expect(protobuf).toMatchObject({ status: 415, body: { message: expect.stringContaining("in JSON") } });
});

test.each(WAYS)("%s: the key comes as Bearer or as Basic's password, and a wrong one is a 401", async (url, write) => {
  const basic = (key: string) => `Basic ${Buffer.from(`sensor:${key}`).toString("base64")}`;
  for (const authorization of [`Bearer ${KEY}`, basic(KEY)]) {
    const body = write([cowrie("session.connect", { session: authorization })]);
    expect((await post(url, body, { key: "", authorization })).status).toBeLessThan(300);
  }
  for (const headers of [{ key: "" }, { key: "another-key" }, { key: "", authorization: basic("another-key") }]) {
    expect((await post(url, write([cowrie("session.connect")]), headers)).status).toBe(401);
  }
  expect(await rows()).toHaveLength(2);
});
