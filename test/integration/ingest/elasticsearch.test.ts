import { gzipSync } from "node:zlib";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { expectDescribed } from "../../support/oracle/description.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { freshKafka, ingestOf, readTopic } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const KEY = "key-of-the-settings";
let world: World;
let app: FastifyInstance;
let guarded: FastifyInstance;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([makeTag("known", "suspicious")]);
  const open = async (keys: readonly string[]) =>
    makeApp(INGEST_OPERATIONS, (await ingestOf(world, undefined, () => NOW, keys)).register);
  [app, guarded] = [await open([]), await open([KEY])];
});
afterAll(async () => {
  await Promise.all([app.close(), guarded.close()]);
  await world.close();
});

type Sent = { readonly url?: string; readonly headers?: Record<string, string>; readonly to?: FastifyInstance };
const cause = z.object({ type: z.string(), reason: z.string() });
const item = z.object({
  _index: z.string(),
  _id: z.string().optional(),
  status: z.int(),
  result: z.string().optional(),
  error: cause.optional(),
});
const bulkAnswer = z.object({ errors: z.boolean(), items: z.array(z.record(z.string(), item)) });

async function send(payload: string | Buffer, { url = "/_bulk", headers = {}, to = app }: Sent = {}) {
  const response = await to.inject({ method: "POST", url, payload, headers });
  expectDescribed("POST", url, response.statusCode, response.json());
  expect(response.headers["x-elastic-product"]).toBe("Elasticsearch");
  return response;
}

/** The outcome of each document: its status, and the reason of its rejection. */
async function bulk(payload: string | Buffer, sent: Sent = {}) {
  const response = await send(payload, sent);
  expect(response.statusCode, response.body).toBe(200);
  const { errors, items } = bulkAnswer.parse(response.json());
  const outcomes = items.flatMap((one) => Object.values(one));
  expect(errors).toBe(outcomes.some(({ status }) => status !== 201));
  return outcomes.map(({ status, error }) => (error === undefined ? status : `${status} ${error.reason}`));
}

const pair = (document: object | string, action: object = { create: {} }) =>
  `${JSON.stringify(action)}\n${typeof document === "string" ? document : JSON.stringify(document)}\n`;
const seen = (ip: string, members: object = {}) => observation(ip, NOW - 60_000, { tags: ["known"], ...members });
const cowrie = (event: string, ip: string, members: object = {}) => ({
  ...{ eventid: `cowrie.${event}`, src_ip: ip, session: ip, sensor: "pot" },
  ...{ timestamp: new Date(NOW - 60_000).toISOString(), ...members },
});
const hitsOf = async (ip: string) => (await readStored(world)).filter((row) => row.ip === ip).length;

const deadLetters = defineQuery({
  name: "test-dead-letters",
  sql: "SELECT reason, payload FROM dead_letters FINAL",
  params: z.object({}),
  row: z.object({ reason: z.string(), payload: z.string() }),
});
const isKept = async (reason: string, payload: string) =>
  (await run(world.client, deadLetters, {})).some((one) => one.reason === reason && one.payload === payload);

test("the answer has the text that Fluent Bit looks for when it is larger than its buffer", async () => {
  expect((await send(pair(seen("45.1.12.1")))).body).toContain('"errors":false,"items":[{"create":{');
});

test("each document has an outcome of its own, and a rejected one is kept as a dead letter, too", async () => {
  const unknown = JSON.stringify({ nobody: "knows this" });
  const update = JSON.stringify({ doc: seen("45.1.0.9") });
  const outcomes = await bulk(
    [
      pair(seen("45.1.0.1")),
      pair(cowrie("session.closed", "45.1.0.2"), { index: { _index: "logstash-2026.11.20" } }),
      pair(unknown),
      pair("{broken"),
      pair(seen("10.0.0.1")),
      `${JSON.stringify({ delete: { _index: "a", _id: "b" } })}\n`,
      pair(update, { update: { _index: "a", _id: "b" } }),
      pair(seen("45.1.0.3")),
    ].join(""),
  );
  expect(outcomes).toEqual([
    ...[201, 201],
    expect.stringMatching(/^400 unknown-format: /),
    expect.stringMatching(/^400 not-json: /),
    expect.stringMatching(/^400 source-not-routable: /),
    "400 nothing is deleted here",
    expect.stringMatching(/^400 unknown-format: an update changes/),
    201,
  ]);
  expect([await hitsOf("45.1.0.1"), await hitsOf("45.1.0.2"), await hitsOf("45.1.0.3")]).toEqual([1, 0, 1]);
  for (const [reason, payload] of [
    ["unknown-format", unknown],
    ["not-json", "{broken"],
    ["unknown-format", update],
  ] as const) {
    expect([payload, await isKept(reason, payload)]).toEqual([payload, true]);
  }
});

test("an _id is an observation of its index however often it is sent, and what has none is another each time", async () => {
  const sent = (id: object) => pair(seen("45.1.1.1"), { create: { _index: "a", ...id } });
  for (let time = 0; time < 2; time++) expect(await bulk(sent({ _id: "7" }))).toEqual([201]);
  expect(await hitsOf("45.1.1.1")).toBe(1);
  await bulk(sent({ _id: "8" }) + pair(seen("45.1.1.1"), { index: { _index: "b", _id: "7" } }));
  expect(await hitsOf("45.1.1.1"), "another id, another index").toBe(3);
  await bulk(sent({}) + sent({}));
  await bulk(sent({}) + sent({}));
  expect(await hitsOf("45.1.1.1")).toBe(7);
});

test("with brokers configured, a document has the same id in the topic each time that it is sent", async () => {
  const kafka = await freshKafka();
  const ingest = await ingestOf(world, kafka, () => NOW);
  const published = await makeApp(INGEST_OPERATIONS, ingest.register);
  const sent = (id: string) => pair(seen("45.1.11.1"), { index: { _index: "a", _id: id } });
  for (const body of [sent("1"), sent("1") + sent("2")]) expect(await bulk(body, { to: published })).not.toContain(400);
  const stated = z.object({ observation_id: z.string() });
  const messages = await readTopic(kafka, kafka.topic, 3);
  const ids = messages.map(({ value }) => stated.parse(JSON.parse(value.toString())).observation_id);
  expect(new Set(ids).size).toBe(2);
  await published.close();
  await ingest.stop();
});

test("a sensor's record that names no _id is the same when it is sent again, alone or among others", async () => {
  const login = cowrie("login.failed", "45.1.2.1", { username: "root", password: "a" });
  const attempts = defineQuery({
    name: "test-attempts",
    sql: "SELECT login_attempts AS attempts FROM observations FINAL WHERE source_ip = '45.1.2.1'",
    params: z.object({}),
    row: z.object({ attempts: z.int() }),
  });
  await bulk(pair(login));
  await bulk(
    pair(login) + pair(cowrie("login.failed", "45.1.2.1", { username: "root", password: "b", message: "another" })),
  );
  expect(await run(world.client, attempts, {})).toEqual([{ attempts: 2 }]);
});

test("a bulk request that failed and is sent again counts once", async () => {
  const body = pair(seen("45.1.3.1")) + pair(seen("45.1.3.1"));
  const query = "CREATE MATERIALIZED VIEW broken_mv ENGINE = Null AS SELECT throwIf(1) AS broken FROM observations";
  await world.client.command({ query });
  const failed = await send(body);
  expect([failed.statusCode, failed.json()]).toMatchObject([500, { status: 500, error: { type: "exception" } }]);
  await world.client.command({ query: "DROP VIEW broken_mv SYNC" });
  expect(await bulk(body)).toEqual([201, 201]);
  expect(await hitsOf("45.1.3.1")).toBe(2);
});

test("an index that is called like a format says what its documents are, in a path or in an action", async () => {
  const record = cowrie("session.connect", "45.1.4.1", { dst_port: 22 });
  expect(await bulk(pair(record), { url: "/cowrie/_bulk" })).toEqual([201]);
  expect(await bulk(pair(record), { url: "/suricata-eve/_bulk" })).toEqual([
    expect.stringMatching(/^400 unknown-format: .*cowrie/),
  ]);
  expect(
    await bulk(pair(seen("45.1.4.2"), { index: { _index: "cowrie" } }) + pair(seen("45.1.4.2")), {
      url: "/observations/_bulk",
    }),
  ).toEqual([expect.stringMatching(/^400 unknown-format: /), 201]);
  const tpot = {
    type: "Cowrie",
    "@timestamp": new Date(NOW - 60_000).toISOString(),
    ...cowrie("session.connect", "45.1.4.3"),
  };
  expect(await bulk(pair(tpot, { index: { _index: "logstash-2026.11.20" } }))).toEqual([201]);
  expect([await hitsOf("45.1.4.1"), await hitsOf("45.1.4.2"), await hitsOf("45.1.4.3")]).toEqual([1, 1, 1]);
});

test("bodies may be gzip, with or without a line feed at the end, and have blank lines between pairs", async () => {
  const body = `${pair(seen("45.1.5.1"))}\r\n\n${pair(seen("45.1.5.2")).trimEnd()}`;
  expect(await bulk(gzipSync(body), { headers: { "content-encoding": "gzip" } })).toEqual([201, 201]);
  expect([await hitsOf("45.1.5.1"), await hitsOf("45.1.5.2")]).toEqual([1, 1]);
});

test("of a body that breaks off, what is complete is stored", async () => {
  const half = pair(seen("45.1.6.1")) + JSON.stringify({ create: { _id: "half" } });
  const reason = "400 no document follows the action create";
  expect(await bulk(half)).toEqual([201, reason]);
  expect(await bulk(`${half}\n`)).toEqual([201, reason]);
  expect(await bulk(`${pair(seen("45.1.6.2"))}{"create":{}}\n{"observed_at":"20`)).toEqual([
    201,
    expect.stringMatching(/^400 not-json: /),
  ]);
  expect(await hitsOf("45.1.6.2")).toBe(1);
});

test.each([
  ["", 400, "illegal_argument_exception"],
  ["\n\n", 400, "illegal_argument_exception"],
  [`${pair(seen("45.1.7.1"))}${JSON.stringify(seen("45.1.7.1"))}\n{}\n`, 400, "illegal_argument_exception"],
  ['{"index":{},"create":{}}\n{}\n', 400, "illegal_argument_exception"],
  [`{"index":{"_id":"${"x".repeat(9_000)}"}}\n{}\n`, 400, "illegal_argument_exception"],
  ['{"index":{}}\n{}\n'.repeat(50_001), 413, "content_too_long_exception"],
])(
  "a body that cannot be read is an error of Elasticsearch's kind, and nothing is stored: %#",
  async (body, status, type) => {
    const response = await send(body);
    const { error } = z.object({ error: cause }).parse(response.json());
    expect([response.statusCode, error.type, response.json()]).toEqual([
      status,
      type,
      { error: { ...error, root_cause: [error] }, status, message: error.reason },
    ]);
    expect(await hitsOf("45.1.7.1")).toBe(0);
  },
);

test("a body of more than 32 MiB, and one in an unknown encoding, are errors of Elasticsearch's kind", async () => {
  const large = await send(gzipSync(" ".repeat(33 * 1024 * 1024)), { headers: { "content-encoding": "gzip" } });
  expect(large.json()).toMatchObject({ status: 413, error: { type: "content_too_long_exception" } });
  const encoded = await send("x", { headers: { "content-encoding": "zstd" } });
  expect(encoded.json()).toMatchObject({ status: 415, error: { type: "media_type_header_exception" } });
});

test("the key is Basic's password or part of an ApiKey, and a wrong one is Elasticsearch's 401", async () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  for (const authorization of [`Basic ${base64(`elastic:${KEY}`)}`, `ApiKey ${base64(`id:${KEY}`)}`, `Bearer ${KEY}`]) {
    expect(await bulk(pair(seen("45.1.8.1")), { headers: { authorization }, to: guarded })).toEqual([201]);
  }
  for (const headers of [{}, { authorization: `ApiKey ${base64("id:wrong")}` }]) {
    for (const url of ["/_bulk", "/cowrie/_bulk", "/cowrie/_doc"]) {
      const response = await send(pair(seen("45.1.8.2")), { url, headers, to: guarded });
      expect(response.json()).toMatchObject({ status: 401, error: { type: "security_exception" } });
    }
    const response = await guarded.inject({ url: "/_license", headers });
    expect([response.statusCode, response.json()]).toMatchObject([401, { error: { type: "security_exception" } }]);
  }
  expect(await hitsOf("45.1.8.2")).toBe(0);
});

test("a document that is sent alone is stored, ignored, or rejected with its reason", async () => {
  const post = (document: object | string) =>
    send(typeof document === "string" ? document : JSON.stringify(document), { url: "/cowrie/_doc?pipeline=geoip" });
  const stored = await post(cowrie("session.connect", "45.1.9.1"));
  expect([stored.statusCode, stored.json()]).toMatchObject([201, { _index: "cowrie", result: "created" }]);
  expect((await post(cowrie("session.closed", "45.1.9.2"))).json()).toMatchObject({ result: "noop" });
  expect((await post('{"broken')).json()).toMatchObject({ status: 400, error: { type: "mapper_parsing_exception" } });
  expect((await post("")).statusCode).toBe(400);
  expect(await isKept("not-json", '{"broken')).toBe(true);
  expect(await hitsOf("45.1.9.1")).toBe(1);
});

test.each([
  ...["/_license", "/_xpack", "/_cluster/health", "/_cat/health", "/_nodes", "/_nodes/http", "/_nodes/_all/http"],
  ...["/_ilm/policy/logs", "/_index_template/logs", "/_component_template/logs", "/_template/logs", "/_template"],
  ...["/_ingest/pipeline/geoip", "/_ingest/pipeline", "/_data_stream/logs", "/_alias/logs", "/_alias"],
])("a client that asks for %s before it sends anything goes on", async (url) => {
  for (const method of ["GET", "HEAD"] as const) {
    const response = await app.inject({ method, url });
    expect([method, response.statusCode, response.headers["x-elastic-product"]]).toEqual([
      method,
      200,
      "Elasticsearch",
    ]);
  }
});

test("templates, policies, pipelines and indexes can be written, which changes nothing", async () => {
  for (const url of ["/_ilm/policy/a", "/_index_template/a", "/_ingest/pipeline/a", "/cowrie", "/cowrie/_mapping"]) {
    const response = await app.inject({ method: "PUT", url, payload: { any: "thing" } });
    expect([url, response.statusCode, response.json()]).toEqual([url, 200, { acknowledged: true }]);
  }
  for (const url of ["/cowrie", "/logstash-2026.11.20", "/cowrie/_alias/logs"]) {
    expect((await app.inject({ method: "HEAD", url })).statusCode).toBe(200);
  }
  const version = await app.inject({ method: "PUT", url: "/v3", payload: {} });
  expect([version.statusCode, version.json()]).toEqual([404, { message: "Not found" }]);
});

test("the start page stays a browser's, and a client of Elasticsearch gets what it looks for there", async () => {
  const ask = async (headers: Record<string, string>, method: "GET" | "HEAD" = "GET", to = app) => {
    const { statusCode, headers: answered, body } = await to.inject({ method, url: "/?pretty", headers });
    return { status: statusCode, product: answered["x-elastic-product"], body };
  };
  for (const headers of [
    {},
    { accept: "*/*" },
    { accept: "text/html,application/json", "user-agent": "Mozilla/5.0" },
  ]) {
    expect(await ask(headers)).toMatchObject({ status: 303, product: undefined });
  }
  for (const headers of [
    { accept: "application/json" },
    { accept: "application/vnd.elasticsearch+json; compatible-with=8" },
    { "user-agent": "Logstash/8.19.0 (OS=Linux) logstash-output-elasticsearch/11.22.12" },
    { "user-agent": "Elastic-Filebeat/8.19.0 (linux; amd64)", accept: "*/*" },
  ]) {
    const { body, ...answer } = await ask(headers);
    expect(answer).toEqual({ status: 200, product: "Elasticsearch" });
    expect(JSON.parse(body)).toMatchObject({ version: { number: "8.19.0" }, tagline: "You Know, for Search" });
    expect(await ask(headers, "HEAD")).toMatchObject({ status: 200, product: "Elasticsearch" });
  }
  for (const to of [app, guarded]) {
    expect(await ask({}, "HEAD", to)).toMatchObject({ status: 200, product: "Elasticsearch" });
    expect(await ask({ accept: "text/html,*/*" }, "HEAD", to)).toMatchObject({ status: 303, product: undefined });
  }
  const wrong = { authorization: "Basic eDp5", accept: "application/json" };
  expect(await ask(wrong, "GET", guarded)).toMatchObject({ status: 401, product: "Elasticsearch" });
});

test("what Logstash's output asks for in its order is answered, so that its first bulk request follows", async () => {
  const authorization = `Basic ${Buffer.from(`sensor:${KEY}`).toString("base64")}`;
  const headers = {
    authorization,
    "user-agent": "Logstash/8.19.0 (OS=Linux-6.1-amd64) logstash-output-elasticsearch/12",
  };
  for (const [method, url] of [
    ...[["HEAD", "/"] as const, ["GET", "/"] as const, ["GET", "/_license"] as const],
    ...[["HEAD", "/_index_template/ecs-logstash"] as const, ["HEAD", "/_alias/logstash"] as const],
  ]) {
    const response = await guarded.inject({ method, url, headers });
    expect([method, url, response.statusCode]).toEqual([method, url, 200]);
  }
  const response = await guarded.inject({
    method: "POST",
    url: "/_bulk?filter_path=errors,items.*.error,items.*.status",
    headers: {
      ...headers,
      "content-encoding": "gzip",
      "content-type": "application/json",
      "x-elastic-event-count": "1",
    },
    payload: gzipSync(pair(seen("45.1.10.1"), { create: { _id: null, _index: "logstash-2026.11.20", routing: null } })),
  });
  expect([response.statusCode, bulkAnswer.parse(response.json()).errors]).toEqual([200, false]);
  expect(await hitsOf("45.1.10.1")).toBe(1);
});
