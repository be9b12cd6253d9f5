import { renewStaleRollups } from "@noisefloor/clickhouse/rollups/renew-stale.ts";
import { readStaleRollups } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { identify, openRequests } from "@noisefloor/ingest/sources/http/requests.ts";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp, silent } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const TAG = makeTag("sent-again", "malicious");
const SEEN_AT = Date.now() - 60_000;
let now = Date.now();
let world: World;
/** Two processes over one store, and those that are started in their place. */
let first: FastifyInstance;
let second: FastifyInstance;

const startProcess = async () => {
  const ingest = await ingestOf(world, undefined, () => now);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  world.beforeClose(async () => {
    await app.close();
    await ingest.stop();
  });
  return app;
};
beforeEach(async () => {
  now = Date.now();
  world = await createWorld(() => now);
  await world.addTags([TAG]);
  [first, second] = [await startProcess(), await startProcess()];
});
afterEach(() => world.close());

/** A view beside those of the rollups, which fails for the port 666. */
async function breakView(failure: string) {
  const query = `CREATE MATERIALIZED VIEW broken_mv ENGINE = Null AS SELECT ${failure} AS broken FROM observations`;
  await world.client.command({ query });
}
const mendView = () => world.client.command({ query: "DROP VIEW IF EXISTS broken_mv SYNC" });
/** Late, when other views and the table itself have the rows. */
const THROWS = "throwIf(sleepEachRow(0.2) = 0 AND destination_port = 666)";
const CANNOT_PARSE = "toUInt8(if(destination_port = 666, 'none', '1'))";

const bodyOf = (...addresses: readonly string[]) =>
  addresses
    .map((ip, index) => JSON.stringify(observation(ip, SEEN_AT, { destination_port: 666 - index, tags: [TAG.slug] })))
    .join("\n");
const BODY = bodyOf("45.0.0.1", "45.0.0.2", "45.0.0.2");

async function post(to: FastifyInstance, payload: string, headers: Record<string, string> = {}, query = "") {
  const response = await to.inject({ method: "POST", url: `/v1/observations${query}`, payload, headers });
  return { status: response.statusCode, body: response.json() };
}

const counts = z.array(z.object({ ip: z.string(), hits: z.coerce.number() }));
/** By all that answers are made of: the observations, an address's lookup and the tag's activity. */
async function expectHits(hits: Readonly<Record<string, number>>) {
  const query = `SELECT toString(source_ip) AS ip, count() AS hits FROM observations FINAL GROUP BY ip ORDER BY ip`;
  const stored = counts.parse(await (await world.client.query({ query, format: "JSONEachRow" })).json());
  expect(Object.fromEntries(stored.map(({ ip, hits: number }) => [ip, number]))).toEqual(hits);
  const addresses = Object.keys(hits).sort();
  expect(await world.get(`/v3/tags/${TAG.id}/activity?include_ips=true&days=1&granularity=24h`)).toMatchObject({
    body: { activity: { malicious: expect.arrayContaining([expect.objectContaining({ ips: addresses })]) } },
  });
  expect(await world.get("/v3/gnql?query=tags:sent-again")).toMatchObject({
    body: { request_metadata: { count: addresses.length } },
  });
  for (const ip of addresses) {
    expect((await world.get(`/v3/community/${ip}`)).status).toBe(200);
    expect(await world.get(`/v3/ip/${ip}`)).toMatchObject({
      body: { internet_scanner_intelligence: { metadata: { sensor_hits: hits[ip] } } },
    });
  }
}

test("a request that failed and is sent again, to any process, counts once; what was answered and is sent again counts twice", async () => {
  await breakView(THROWS);
  for (const to of [first, second, first]) expect((await post(to, BODY)).status).toBe(500);
  await mendView();
  expect((await post(second, BODY)).status).toBe(202);
  await expectHits({ "45.0.0.1": 1, "45.0.0.2": 2 });
  expect((await post(first, BODY)).status, "curl run twice").toBe(202);
  expect((await post(await startProcess(), BODY)).status, "after a restart").toBe(202);
  await expectHits({ "45.0.0.1": 3, "45.0.0.2": 6 });
});

test("two equal requests at the same time are two, and when both fail they are still two", async () => {
  const both = () => Promise.all([post(first, BODY), post(first, BODY)]);
  await breakView(THROWS);
  expect((await both()).map(({ status }) => status)).toEqual([500, 500]);
  await mendView();
  expect((await both()).map(({ status }) => status)).toEqual([202, 202]);
  await expectHits({ "45.0.0.1": 2, "45.0.0.2": 4 });
});

test("a request with an Idempotency-Key counts once however often it is answered, whatever its spelling", async () => {
  const headers = { "idempotency-key": "batch-17" };
  expect((await post(first, BODY, headers)).status).toBe(202);
  expect((await post(second, `${BODY}\n\n`, headers)).status).toBe(202);
  await expectHits({ "45.0.0.1": 1, "45.0.0.2": 2 });
  expect((await post(first, BODY, { "idempotency-key": "batch-18" })).status).toBe(202);
  await expectHits({ "45.0.0.1": 2, "45.0.0.2": 4 });
  expect(await post(first, BODY, { "idempotency-key": "two words" })).toMatchObject({ status: 400 });
});

test("records without a time of their own have that of the first attempt", async () => {
  const record = { action: "login", server: "ssh_server", src_ip: "45.0.0.9", src_port: "40000", dest_port: "666" };
  const send = () => post(first, JSON.stringify({ ...record, username: "a", password: "b" }), {}, "?format=honeypots");
  await breakView(THROWS);
  expect((await send()).status).toBe(500);
  now += 5_000;
  expect((await send()).status).toBe(500);
  await mendView();
  now += 5_000;
  expect((await send()).status).toBe(202);
  const rows = async () => {
    const query = "SELECT toString(source_ip) AS ip, count() AS hits FROM observations FINAL GROUP BY ip";
    return counts.parse(await (await world.client.query({ query, format: "JSONEachRow" })).json());
  };
  expect(await rows()).toEqual([{ ip: "45.0.0.9", hits: 1 }]);
  now += 5_000;
  expect((await send()).status, "another login").toBe(202);
  expect(await rows()).toEqual([{ ip: "45.0.0.9", hits: 2 }]);
});

test("a request whose answer did not arrive is the same when it is sent again, in another process", async () => {
  const options = { now: () => now, log: silent };
  const [one, other] = [openRequests(world.client, options), openRequests(world.client, options)];
  const identity = await identify({ right: "shared-datasets" }, Buffer.from(BODY), undefined);
  const lost = await one.claim(identity);
  await lost.answer();
  lost.end(false);
  await eventually(async () => expect((await other.claim(identity)).origin).toBe(lost.origin));
});

test("what a failed request has left, and nobody sends again, is in all answers or in none", async () => {
  await breakView(THROWS);
  expect((await post(first, BODY)).status).toBe(500);
  await mendView();
  await eventually(async () => expect(await readStaleRollups(world.client)).toBeDefined());
  expect(await renewStaleRollups(world.client)).toBe("replaced");
  await expectHits({ "45.0.0.1": 1, "45.0.0.2": 2 });
});

test("a row that the store rejects is a dead letter, and neither in the observations nor in what is derived from them", async () => {
  await breakView(CANNOT_PARSE);
  expect(await post(first, BODY)).toMatchObject({
    status: 202,
    body: { accepted: 2, reasons: { "rejected-by-store": 1 }, rejections: [{ position: 1 }] },
  });
  await mendView();
  expect(await renewStaleRollups(world.client)).toBe("replaced");
  await expectHits({ "45.0.0.2": 2 });
  expect((await world.get("/v3/community/45.0.0.1")).status).toBe(404);
});
