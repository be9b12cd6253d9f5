import { gzipSync } from "node:zlib";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { INGEST_OPERATIONS, type Ingest, type IngestOptions } from "@noisefloor/ingest/service/service.ts";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { cowrieLines, visits } from "../../support/builders/cowrie-log.ts";
import { eventually } from "../../support/eventually.ts";
import { PLAIN } from "../../support/ingest/decode.ts";
import { expectDescribed } from "../../support/oracle/description.ts";
import { freshKafka, ingestOf, producerOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.parse("2026-11-20T14:30:00Z");
const now = () => NOW;
const VISITS = visits(20, NOW - 3_600_000);
const LOG = VISITS.flatMap(cowrieLines);
const KEY = "a-key-of-the-settings";
const decode = { ...PLAIN, publicPort: (port: number) => (port === 2222 ? 22 : port) };

let world: World;
let ingest: Ingest | undefined;
let app: FastifyInstance;

beforeEach(async () => {
  world = await createWorld(now);
});
afterEach(async () => {
  await app.close();
  await ingest?.stop();
  await world.close();
});

async function open(more: Partial<IngestOptions> & { sensorKeys?: readonly string[] } = {}): Promise<void> {
  ingest = await ingestOf(world, more.kafka, now, more.sensorKeys ?? [], undefined, undefined, { decode, ...more });
  app = await makeApp(INGEST_OPERATIONS, ingest.register);
}

async function post(path: string, payload: string | Buffer, headers: Record<string, string> = {}) {
  const response = await app.inject({ method: "POST", url: path, payload, headers });
  expectDescribed("POST", path.split("?")[0] ?? "", response.statusCode, response.json());
  return { status: response.statusCode, body: response.json() };
}

const stored = defineQuery({
  name: "test-visits",
  sql: `SELECT toString(source_ip) AS ip, session_id AS session, toUnixTimestamp64Milli(observed_at) AS at, login_attempts AS logins,
      destination_port AS port, application, commands FROM observations FINAL ORDER BY at`,
  params: z.object({}),
  row: z.object({
    ip: z.string(),
    session: z.string(),
    at: z.int(),
    logins: z.int(),
    port: z.int().nullable(),
    application: z.string(),
    commands: z.array(z.string()),
  }),
});
const rows = () => run(world.client, stored, {});
const EXPECTED = VISITS.map((visit) => ({ ...visit, port: 22, application: "ssh", commands: ["uname -a"] }));

const envelopes = (lines: readonly string[]) =>
  lines.map((line) => `{"sourcetype":"cowrie","host":"h","event":${line}}`).join("");

test("a log by HTTP, once whole and once in other pieces by another way, is each visit once", async () => {
  await open({ sensorKeys: [KEY] });
  const basic = { authorization: `Basic ${Buffer.from(`anybody:${KEY}`).toString("base64")}` };
  const whole = await post("/v1/observations?format=cowrie", LOG.join("\n"), basic);
  // The ends of sessions say nothing about what a source did.
  const answer = { accepted: LOG.length - VISITS.length, rejected: 0, ignored: VISITS.length };
  expect(whole).toMatchObject({ status: 202, body: answer });
  expect(await rows()).toEqual(EXPECTED);
  const names = ["/services/collector/event", "/services/collector/event/1.0", "/services/collector"];
  for (let start = 0; start < LOG.length; start += 17) {
    const some = gzipSync(envelopes(LOG.slice(start, start + 20)));
    const headers = { authorization: `Splunk ${KEY}`, "content-encoding": "gzip" };
    expect(await post(names[start % names.length] ?? "", some, headers)).toMatchObject({
      status: 200,
      body: { text: "Success", code: 0, rejected: 0 },
    });
  }
  expect(await post("/v1/observations?format=auto", `[${LOG.join(",\n")}]`, { key: KEY })).toMatchObject({
    body: answer,
  });
  expect(await rows()).toEqual(EXPECTED);
});

const CONTACT = { src_host: "45.83.64.9", src_port: 45_256, dst_host: "10.0.0.2", dst_port: 22, node_id: "canary-1" };
const contact = (logtype: number, second: number, logdata: object = {}) =>
  JSON.stringify({ ...CONTACT, logtype, logdata, utc_time: `2026-11-20 14:00:0${second}.5` });

test("a connection to OpenCanary's SSH with three passwords is one session with three logins", async () => {
  await open();
  const log = ["one", "two", "three"].flatMap((PASSWORD, index) => [
    contact(4001, index, { REMOTEVERSION: "SSH-2.0-paramiko_4.0.0" }),
    contact(4002, index, { REMOTEVERSION: "SSH-2.0-paramiko_4.0.0", USERNAME: "root", PASSWORD }),
  ]);
  const body = [contact(4000, 0, { SESSION: "0" }), ...log].join("\n");
  for (const _again of [1, 2]) {
    expect(await post("/v1/observations?format=auto", body)).toMatchObject({ body: { accepted: 7, rejected: 0 } });
  }
  expect(await rows()).toEqual([
    expect.objectContaining({ ip: "45.83.64.9", logins: 3, port: 22, application: "ssh", at: NOW - 1_799_500 }),
  ]);
});

test.each(["before", "after"])(
  "a request without an answer, %s its flow in Suricata's log, counts when it was made",
  async (order) => {
    await open();
    const ends = { src_ip: "45.83.64.9", src_port: 40_000, dest_ip: "198.51.100.7", dest_port: 80, proto: "TCP" };
    const common = { ...ends, timestamp: "2026-11-20T14:10:06.5+0000", flow_id: 246_808_919_801_550, host: "tap-1" };
    const request = { ...common, event_type: "http", pkt_src: "stream (flow timeout)", tx_id: 0, http: { url: "/" } };
    const flow = { ...common, event_type: "flow", app_proto: "http", flow: { start: "2026-11-20T14:00:00.5+0000" } };
    const lines = order === "before" ? [request, flow] : [flow, request];
    const body = lines.map((line) => JSON.stringify(line)).join("\n");
    expect(await post("/v1/observations?format=auto", body)).toMatchObject({ body: { accepted: 2, rejected: 0 } });
    expect(await rows()).toEqual([
      expect.objectContaining({ ip: "45.83.64.9", application: "http", at: NOW - 1_799_500 }),
    ]);
  },
);

test("a shipper that asks before it sends, with a key or without, hears whether events are taken", async () => {
  const ask = async (url: string, authorization?: string) => {
    const answer = await app.inject({ url, headers: authorization === undefined ? {} : { authorization } });
    expectDescribed("GET", url, answer.statusCode, answer.json());
    return { status: answer.statusCode, body: answer.json() };
  };
  const healthy = { status: 200, body: { text: "HEC is healthy", code: 17 } };
  const unhealthy = { status: 503, body: { text: "HEC is unhealthy, queues are full", code: 18 } };
  for (const [floorBytes, expected] of [
    [0, healthy],
    [Number.MAX_SAFE_INTEGER, unhealthy],
  ] as const) {
    const disk = await openDiskGuard(world.client, { floorBytes });
    await open({ sensorKeys: [KEY], disk });
    onTestFinished(() => app.close());
    for (const url of ["/services/collector/health", "/services/collector/health/1.0"]) {
      expect(await ask(url)).toEqual(expected);
      expect(await ask(url, `Splunk ${KEY}`)).toEqual(expected);
      expect(await ask(url, "Splunk another-key-than-that")).toMatchObject({ status: 401 });
    }
    disk.stop();
  }
});

test("a raw topic is consumed beside the topic of observations, and brings nothing twice", async () => {
  const kafka = await freshKafka();
  const raw = { topic: `${kafka.topic}-cowrie`, format: "auto" };
  await open({ kafka: { ...kafka, rawTopics: [raw] } });
  await ingest?.start();
  const producer = await producerOf(kafka);
  const messages = LOG.map((line) => ({ key: Buffer.from("pot"), value: Buffer.from(line) }));
  await producer.produce(raw.topic, messages);
  // The same log by HTTP, which publishes its observations to the other topic.
  expect(await post("/v1/observations?format=cowrie", LOG.join("\n"))).toMatchObject({ status: 202 });
  // A shipper that reads a rotated file again.
  await producer.produce(raw.topic, messages.slice(30));
  await eventually(async () => expect(await rows()).toEqual(EXPECTED), 30_000);
  await producer.produce(raw.topic, [{ key: null, value: Buffer.from('{"what":1}') }]);
  const dead = defineQuery({
    name: "test-dead",
    sql: "SELECT reason, payload FROM dead_letters FINAL",
    params: z.object({}),
    row: z.object({ reason: z.string(), payload: z.string() }),
  });
  await eventually(async () =>
    expect(await run(world.client, dead, {})).toEqual([{ reason: "unknown-format", payload: '{"what":1}' }]),
  );
  expect(await rows()).toEqual(EXPECTED);
  await producer.close();
});

test("a T-Pot sensor posts batches to /, with its key as password", async () => {
  await open({ sensorKeys: [KEY] });
  const record = { type: "Cowrie", "@timestamp": new Date(NOW).toISOString(), "t-pot_hostname": "hive-1" };
  const batch = LOG.slice(0, 6).map((line) => JSON.stringify({ ...record, ...JSON.parse(line) }));
  const authorization = `Basic ${Buffer.from(`hive:${KEY}`).toString("base64")}`;
  const headers = { authorization, "content-encoding": "gzip" };
  expect(await post("/", gzipSync(`[${batch.join(",")}]`), headers)).toMatchObject({ status: 202 });
  expect(await world.get(`/v3/community/${VISITS[0]?.ip}`)).toMatchObject({ status: 200, body: { noise: true } });
});

test("what cannot be used is answered in words that say what to do", async () => {
  await open({ sensorKeys: [KEY] });
  const workspaceKey = await world.addCaller("community");
  const key = { key: KEY };
  expect(await post("/v1/observations?format=nonsense", "{}", key)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining("format takes one of auto, observations, tpot, cowrie") },
  });
  const none = await post("/v1/observations?format=auto", "what is this\n", key);
  expect(none).toMatchObject({ status: 422, body: { accepted: 0, rejected: 1, reasons: { "unknown-format": 1 } } });
  expect(await post("/v1/observations", "{}", { key: workspaceKey })).toMatchObject({
    status: 401,
    body: { message: expect.stringContaining("noisefloor sensors create") },
  });
  for (const body of ["", "{}", '{"event":', "[]"]) {
    expect([body, (await post("/services/collector/event", body, key)).status]).toEqual([body, 400]);
  }
  const refused = await post("/services/collector/event", '{"event":{"a":1}}{"event":"text"}', key);
  expect(refused).toMatchObject({ status: 422, body: { message: expect.stringContaining("unknown-format") } });
});
