import { request } from "node:http";
import { promisify } from "node:util";
import { gunzip, gzipSync } from "node:zlib";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { expectDescribed } from "../../support/oracle/description.ts";
import { freshKafka, ingestOf, readTopic } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
let world: World;
let app: FastifyInstance;

beforeAll(async () => {
  world = await createWorld(now);
  await world.addTags([makeTag("known", "suspicious")]);
  app = await intake();
});
afterAll(async () => {
  await app.close();
  await world.close();
});

async function intake(sensorKeys: readonly string[] = []): Promise<FastifyInstance> {
  const ingest = await ingestOf(world, undefined, now, sensorKeys);
  return makeApp(INGEST_OPERATIONS, ingest.register);
}

const good = (ip: string) => observation(ip, NOW - 1_000, { tags: ["known"] });

async function post(payload: string | Buffer, headers: Record<string, string> = {}, to = app) {
  const response = await to.inject({ method: "POST", url: "/v1/observations", payload, headers });
  expectDescribed("POST", "/v1/observations", response.statusCode, response.json());
  return { status: response.statusCode, body: response.json() };
}

const deadLetters = defineQuery({
  name: "test-dead-letters",
  sql: "SELECT reason, payload_bytes AS bytes, hex(payload) AS hex FROM dead_letters FINAL WHERE source = 'http' ORDER BY received_at, position",
  params: z.object({}),
  row: z.object({ reason: z.string(), bytes: z.int(), hex: z.string() }),
});

test("accepted observations can be read as soon as the answer has arrived", async () => {
  const { status, body } = await post(JSON.stringify([good("45.1.0.1"), good("45.1.0.2")]), {
    "content-type": "application/json",
  });
  expect({ status, body }).toEqual({
    status: 202,
    body: { accepted: 2, rejected: 0, ignored: 0, reasons: {}, ignored_reasons: {}, rejections: [] },
  });
  expect((await world.get("/v3/community/45.1.0.2")).status).toBe(200);
});

test("every field of an observation is stored as it was sent", async () => {
  const full = {
    observed_at: "REPLACED",
    sensor_id: "sensor-1",
    source_ip: "45.1.9.9",
    observation_id: "my-own-id",
    dataset: "community",
    transport: "udp",
    source_port: 0,
    destination_port: 65_535,
    tags: ["known"],
    http: { method: "GET", host: "example.org", path: "/a?b=c", user_agent: "curl/8" },
    tls: { ja3: "ja3-hash", ja4: "ja4-hash" },
    ssh: { hassh: "hassh-hash", banner: "SSH-2.0-Go" },
    asn: 4_294_967_295,
    organization: "Example Org",
    country: "DE",
    city: "K\u00f6ln",
    rdns: "scanner.example.org",
    metadata: { deep: [1, { two: "\ud83d\ude80" }] },
  };
  const sent = { ...full, observed_at: new Date(NOW - 60_000).toISOString().replace("Z", "+00:00") };
  expect(await post(JSON.stringify(sent))).toMatchObject({ body: { accepted: 1 } });
  const storedRow = defineQuery({
    name: "test-stored-row",
    sql: `SELECT observation_id, toUnixTimestamp64Milli(observed_at) AS at, dataset, workspace_id, sensor_id, source_port,
        destination_port, transport, length(tags) AS tags, http_method, http_host, http_path, http_user_agent, tls_ja3,
        tls_ja4, ssh_hassh, ssh_banner, asn, organization, country, city, rdns, metadata
      FROM observations WHERE source_ip = '45.1.9.9'`,
    params: z.object({}),
    row: z.record(z.string(), z.unknown()),
  });
  expect(await run(world.client, storedRow, {})).toEqual([
    {
      observation_id: "my-own-id",
      at: NOW - 60_000,
      dataset: "community",
      workspace_id: "",
      sensor_id: "sensor-1",
      source_port: 0,
      destination_port: 65_535,
      transport: "udp",
      tags: 1,
      http_method: "GET",
      http_host: "example.org",
      http_path: "/a?b=c",
      http_user_agent: "curl/8",
      tls_ja3: "ja3-hash",
      tls_ja4: "ja4-hash",
      ssh_hassh: "hassh-hash",
      ssh_banner: "SSH-2.0-Go",
      asn: 4_294_967_295,
      organization: "Example Org",
      country: "DE",
      city: "K\u00f6ln",
      rdns: "scanner.example.org",
      metadata: JSON.stringify(full.metadata),
    },
  ]);
});

test.each([
  ["application/x-ndjson", {}],
  ["text/plain", {}],
  ["json", {}],
  ["application/octet-stream", { "content-encoding": "gzip" }],
])("NDJSON sent as %s is accepted", async (type, headers) => {
  const lines = Buffer.from(`${JSON.stringify(good("45.1.1.1"))}\r\n\r\n${JSON.stringify(good("45.1.1.2"))}\n`);
  const payload = "content-encoding" in headers ? gzipSync(lines) : lines;
  expect(await post(payload, { "content-type": type, ...headers })).toMatchObject({
    status: 202,
    body: { accepted: 2 },
  });
});

test("rejected records are counted by reason, listed one by one, and kept byte for byte", async () => {
  const broken = Buffer.concat([Buffer.from('{"sensor_id":"\xff'), Buffer.from([0xfe, 0x00, 0x80])]);
  const lines = [
    Buffer.from(JSON.stringify(good("45.1.2.1"))),
    broken,
    Buffer.from(JSON.stringify({ ...good("45.1.2.2"), tags: ["nobody-knows"] })),
    Buffer.from(JSON.stringify(good("192.168.1.1"))),
  ];
  const { status, body } = await post(Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")])));
  expect(status).toBe(202);
  expect(body).toMatchObject({
    accepted: 1,
    rejected: 3,
    reasons: { "not-json": 1, "unknown-tag": 1, "source-not-routable": 1 },
    rejections: [
      { position: 2, reason: "not-json" },
      { position: 3, reason: "unknown-tag", detail: 'tag "nobody-knows" is not in the catalogue' },
      { position: 4, reason: "source-not-routable" },
    ],
  });
  const kept = await run(world.client, deadLetters, {});
  expect(kept.map(({ reason, hex }) => [reason, hex])).toEqual(
    [1, 2, 3].map((index) => [
      ["", "not-json", "unknown-tag", "source-not-routable"][index],
      lines[index]?.toString("hex").toUpperCase(),
    ]),
  );
});

test("of a record larger than 8 MiB the first 8 MiB and the size are kept", async () => {
  const large = `"${"x".repeat(8 * 1024 * 1024 - 1)}"`;
  const { body } = await post(large);
  expect(body).toMatchObject({ rejected: 1, reasons: { oversize: 1 } });
  const [kept] = (await run(world.client, deadLetters, {})).filter(({ reason }) => reason === "oversize");
  expect(Buffer.from(kept?.hex ?? "", "hex").toString()).toBe(large.slice(0, -1));
  expect(kept?.bytes).toBe(8 * 1024 * 1024 + 1);
});

test.each([
  ["an empty body", "", {}, 400, "The request body is empty"],
  ["a body of white space", " \n", {}, 400, "The request body is empty"],
  ["invalid gzip", "hello", { "content-encoding": "gzip" }, 400, "The request body is not valid gzip"],
  ["another encoding", "hello", { "content-encoding": "br" }, 415, "Content-Encoding must be gzip or left out"],
])("%s is rejected with an error message", async (_name, payload, headers, status, message) => {
  expect(await post(payload, { "content-type": "application/json", ...headers })).toEqual({
    status,
    body: { message },
  });
});

test("a first line that begins with a bracket costs none of the lines after it", async () => {
  const lines = ["[Sun Nov 29 01:00:00.123456 2026] [core:error] AH00126", ...["45.1.3.1", "45.1.3.2"].map(good)];
  const payload = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  expect(await post(payload)).toMatchObject({ status: 202, body: { accepted: 2, rejected: 1 } });
  expect(await post(`[${JSON.stringify(good("45.1.3.3"))},{"torn":`)).toMatchObject({
    status: 202,
    body: { accepted: 1, rejected: 1, reasons: { "not-json": 1 } },
  });
});

test("a small body that unpacks to more than 32 MiB is rejected", async () => {
  const bomb = gzipSync(Buffer.alloc(33 * 1024 * 1024, 0x20));
  expect(await post(bomb, { "content-encoding": "gzip" })).toEqual({
    status: 413,
    body: { message: "The request body is too large: at most 33554432 bytes are accepted" },
  });
});

test("invalid gzip in a body too large to be read is rejected, and the service goes on", async () => {
  const open = await intake();
  await open.listen({ host: "127.0.0.1", port: 0 });
  const { port } = z.object({ port: z.int() }).parse(open.server.address());
  const headers = { "content-encoding": "gzip", "content-length": String(33 * 1024 * 1024) };
  const status = await new Promise((settle, fail) => {
    const asked = request({ host: "127.0.0.1", port, method: "POST", path: "/v1/observations", headers });
    asked.once("error", fail).once("response", (response) => settle(response.statusCode));
    asked.write("this is not gzip");
  });
  expect(status).toBe(413);
  const answer = await fetch(`http://127.0.0.1:${port}/v1/observations`, { method: "POST", body: "{}" });
  expect(answer.status).toBe(422);
  await open.close();
});

test("bytes after the first 32 MiB are not unpacked, so damage in them causes no error", async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20));
  bomb.fill(0xff, bomb.length - 8);
  expect(await post(bomb, { "content-encoding": "gzip" })).toMatchObject({ status: 413 });
  // Takes as long as the intake would for the rest: an error of it would be unhandled by then, and fail the run.
  await expect(promisify(gunzip)(bomb)).rejects.toThrow();
  const whole = gzipSync(JSON.stringify(good("45.1.10.1")));
  expect(await post(whole, { "content-encoding": "gzip" })).toMatchObject({ status: 202, body: { accepted: 1 } });
});

test("with sensor keys configured, only they are accepted", async () => {
  const guarded = await intake(["first-key", "second-key"]);
  const payload = JSON.stringify(good("45.1.3.1"));
  for (const headers of [{}, { key: "" }, { key: "third-key" }]) {
    expect(await post(payload, headers, guarded)).toEqual({
      status: 401,
      body: { message: 'Unauthorized: send a valid sensor key (nfs_...) in the header "key"' },
    });
  }
  expect(await post(payload, { key: "second-key" }, guarded)).toMatchObject({ status: 202 });
  await guarded.close();
});

test("an open intake accepts nothing that a web page makes its visitor send", async () => {
  const fromPage = { origin: "https://foreign.example", "content-type": "text/plain" };
  for (const headers of [fromPage, { ...fromPage, "sec-fetch-site": "cross-site" }]) {
    expect(await post(JSON.stringify(good("45.1.11.1")), headers)).toEqual({
      status: 403,
      body: { message: expect.stringContaining("CORS_ORIGINS") },
    });
  }
  expect((await world.get("/v3/community/45.1.11.1")).status).toBe(404);
});

test("another method is 405 with the one that is allowed", async () => {
  const response = await app.inject({ method: "GET", url: "/v1/observations" });
  expect([response.statusCode, response.headers.allow, response.json()]).toEqual([
    405,
    "POST",
    { message: "Method not allowed: use POST" },
  ]);
});

test("a tag imported a moment ago is known to the next request", async () => {
  const tag = makeTag("brand-new", "malicious");
  await world.client.insert({
    table: "tags",
    values: [{ ...tag, updated_at: "2026-01-01 00:00:00.000" }],
    format: "JSONEachRow",
  });
  expect(await post(JSON.stringify({ ...good("45.1.4.1"), tags: ["brand-new"] }))).toMatchObject({
    body: { accepted: 1 },
  });
});

test("with brokers configured, accepted records are in the topic when the answer comes, in their own bytes", async () => {
  const kafka = await freshKafka();
  const ingest = await ingestOf(world, kafka, now);
  const published = await makeApp(INGEST_OPERATIONS, ingest.register);
  const line = `{ "source_ip": "45.1.5.1", "sensor_id":"s",  "observed_at": "${new Date(NOW).toISOString()}" }`;
  const answer = await post(`${line}\n{}`, {}, published);
  expect(answer).toMatchObject({ status: 202, body: { accepted: 1, rejected: 1 } });
  const [message] = await readTopic(kafka, kafka.topic, 1);
  expect(message?.value.toString()).toBe(line);
  await ingest.stop();
  await published.close();
});

test("while the brokers cannot be reached, the answer is a 503 with a message alone", async () => {
  const kafka = await freshKafka();
  const ingest = await ingestOf(world, kafka, now);
  const published = await makeApp(INGEST_OPERATIONS, ingest.register);
  onTestFinished(() => published.close());
  await ingest.stop();
  expect(await post(JSON.stringify(good("45.1.5.2")), {}, published)).toEqual({
    status: 503,
    body: { message: "The brokers cannot be reached at the moment: send the request again later" },
  });
});

test("a request with more than 50,000 records is rejected before they cost anything", async () => {
  const crowd = gzipSync(Buffer.alloc(16 * 1024 * 1024, "1\n"));
  expect(await post(crowd, { "content-encoding": "gzip" })).toEqual({
    status: 413,
    body: { message: "The request body has more than 50000 observations" },
  });
});

test("one request can hold observations of more than 100 weeks", async () => {
  const weeks = Array.from({ length: 120 }, (_, index) => ({
    ...good(`45.1.6.${index}`),
    observed_at: new Date(NOW - index * 7 * 86_400_000).toISOString(),
  }));
  const ingest = await ingestOf(world, undefined, now, [], createMetrics(), () => 3_650);
  const longRetention = await makeApp(INGEST_OPERATIONS, ingest.register);
  expect(await post(JSON.stringify(weeks), {}, longRetention)).toMatchObject({ status: 202, body: { accepted: 120 } });
  await longRetention.close();
});
