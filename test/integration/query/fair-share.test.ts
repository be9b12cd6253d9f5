import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type Read, reader } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { DEFAULT_PLANS } from "@noisefloor/domain/access/plan.ts";
import type { LimitOptions } from "@noisefloor/http/limits/limits.ts";
import { MAX_PIPELINED_REQUESTS } from "@noisefloor/http/limits/rejections.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { expectDescribed } from "../../support/oracle/description.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const tag = makeTag("loud", "malicious");
const KNOWN = Array.from({ length: 10_000 }, (_, number) => `45.0.${number >> 8}.${number & 255}`);
const MIB = 1024 * 1024;
/** No daily limit: callers without a key make more lookups here. */
const UNLIMITED = new Map([...DEFAULT_PLANS, ["unauthenticated", { reach_days: 90 }] as const]);
let world: World;
let key: string;
let otherKey: string;
let app: FastifyInstance;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([tag]);
  key = await world.addCaller("unlimited", ["community_dataset"]);
  otherKey = await world.addCaller("unlimited", ["community_dataset"]);
  await world.client.insertSelect({
    query: `INSERT INTO ${OBSERVATIONS} (observation_id, observed_at, dataset, sensor_id, source_ip, transport, tags)
      SELECT toString(number), fromUnixTimestamp64Milli({now:Int64}) - 1000, 'global', 's',
        toIPv4(toUInt32(toIPv4('45.0.0.0')) + number), 'tcp', [{tag:UUID}] FROM numbers(10000)`,
    query_params: { now: NOW, tag: tag.id },
  });
});
afterEach(() => app.close());
afterAll(() => world.close());

/** Serves the interface; queries other than lookups are held until `release` is called. */
async function serve(limits: Partial<LimitOptions>, isHeld = false) {
  let isOpen = !isHeld;
  let open = () => {};
  const gate = new Promise<void>((settle) => {
    open = settle;
  });
  const release = () => {
    isOpen = true;
    open();
  };
  const ask = reader(world.client, { maxSeconds: 60 });
  const read: Read = async (definition, params, signal) => {
    if (!isOpen) {
      const gone = new Promise<never>((_, fail) => signal?.addEventListener("abort", () => fail(signal.reason)));
      gone.catch(() => {});
      await Promise.race([gate, gone]);
    }
    return ask(definition, params, signal);
  };
  app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics, { read, plans: UNLIMITED }), {
    limits: { rejectionDelayMs: 1, ...limits },
    trustedProxies: ["127.0.0.1"],
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  return { url, port: Number(new URL(url).port), release };
}

type Caller = Readonly<Record<string, string>>;
const withoutKey = (number: number): Caller => ({ "x-forwarded-for": `192.0.2.${number}` });
const withKey = (value: string): Caller => ({ key: value });

const described = new Set<string>();
async function ask(url: string, path: string, caller: Caller, ips?: readonly string[]) {
  const posted = ips && { method: "POST", body: JSON.stringify({ ips }) };
  const headers = { ...caller, ...(ips && { "content-type": "application/json" }) };
  const response = await fetch(url + path, { ...posted, headers });
  const body: unknown = await response.json();
  // The same question many times has the same shape of an answer, of megabytes.
  const asked = `${response.status} ${path}`;
  if (!described.has(asked)) expectDescribed(ips ? "POST" : "GET", path, response.status, body);
  described.add(asked);
  return { status: response.status, body };
}
const statusesOf = async (answers: readonly Promise<{ status: number }>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);
const count = (values: readonly number[], value: number) => values.filter((one) => one === value).length;
const rejected = async (reason: string) => {
  const { body } = await app.inject({ url: "/metrics" });
  return Number(new RegExp(`rejected_total\\{reason="${reason}"\\} (\\d+)`).exec(body)?.[1] ?? 0);
};

test("one caller's large queries wait for each other, too many are a 429, and no other caller waits for them", async () => {
  const { url, release } = await serve({ queryCapacity: 16, maxWaitMs: 60_000 }, true);
  const hostile = withoutKey(1);
  // 4 run and 32 wait; the others exceed one caller's share.
  const asked = Array.from({ length: 40 }, (_, number) => ask(url, `/v3/ip/45.0.0.${number}`, hostile));
  await eventually(async () => expect(await rejected("caller_queue_full")).toBe(4));
  expect([app.admission.inFlight(), app.admission.queued()]).toEqual([4, 32]);
  const metrics = (await app.inject({ url: "/metrics" })).body;
  expect(metrics).toContain("noisefloor_http_queries_in_flight 4\n");
  expect(metrics).toContain("noisefloor_http_queries_queued 32\n");

  for (const path of ["/healthz", "/v3/tags"]) expect((await fetch(url + path)).status, path).toBe(200);
  for (const path of ["/v3/community/45.0.0.1", "/v3/ip/45.0.0.1?quick=true", "/v2/noise/quick/45.0.0.1"]) {
    expect((await ask(url, path, withoutKey(2))).status, path).toBe(200);
  }
  const others = [ask(url, "/v3/ip/45.0.0.1", withoutKey(2)), ask(url, "/v3/ip/45.0.0.1", withKey(key))];
  await eventually(async () => expect(app.admission.inFlight(), "they do not wait for the 32").toBe(6));

  release();
  expect(await statusesOf(others)).toEqual([200, 200]);
  const statuses = await statusesOf(asked);
  expect([count(statuses, 200), count(statuses, 429)]).toEqual([36, 4]);
  const rejection = (await Promise.all(asked)).find(({ status }) => status === 429);
  expect(rejection?.body).toEqual({
    message: "Too many large queries at once: wait for the answers to some before you send more",
  });
  expect([app.admission.inFlight(), app.admission.queued()]).toEqual([0, 0]);
});

test("all callers without a key together leave half of the capacity to those with one; beyond their queue it is a 503", async () => {
  const { url, release } = await serve({ queryCapacity: 4, maxWaitMs: 60_000 }, true);
  // Each may have 1 running and 8 waiting, all of them together 2 and 16.
  const asked = [1, 2, 3].flatMap((caller) =>
    Array.from({ length: 9 }, (_, number) => ask(url, `/v3/ip/45.0.${caller}.${number}`, withoutKey(caller))),
  );
  await eventually(async () => expect(await rejected("queue_full")).toBe(9));
  const [inFlight, queued] = [app.admission.inFlight(), app.admission.queued()];
  expect([inFlight, queued]).toEqual([2, 16]);
  const keyed = [ask(url, "/v3/ip/45.0.0.1", withKey(key)), ask(url, "/v3/ip/45.0.0.2", withKey(otherKey))];
  await eventually(async () => expect(app.admission.inFlight()).toBe(4));
  release();
  expect(await statusesOf(keyed)).toEqual([200, 200]);
  const statuses = await statusesOf(asked);
  expect([count(statuses, 200), count(statuses, 503)]).toEqual([18, 9]);
});

test("the cost of a query grows with its addresses, days and lists: only few large ones run concurrently", async () => {
  const { url, release } = await serve({ queryCapacity: 16 }, true);
  const [caller, other] = [withKey(key), withKey(otherKey)];
  const asked: Promise<unknown>[] = [];
  const costs = async (expected: number, query: Promise<unknown>) => {
    const before = app.admission.inFlight();
    asked.push(query);
    await eventually(async () => expect(app.admission.inFlight() - before).toBe(expected));
  };
  await costs(3, ask(url, "/v3/ip", caller, KNOWN.slice(0, 2_500)));
  await costs(3, ask(url, "/v3/ip?quick=true", caller, KNOWN));
  await costs(2, ask(url, "/v3/noise/ips/45.0.0.1/timeline", caller));
  const worst = `/v3/tags/${tag.id}/activity?days=90&granularity=1h&include_ips=true`;
  // The caller's whole share.
  await costs(8, ask(url, worst, other));
  release();
  await Promise.all(asked);
});

test("what a long query costs to read is counted before it is read; it waits for its caller's others alone", async () => {
  const { url, release } = await serve({ queryCapacity: 4 }, true);
  const validate = (caller: Caller, query: string) =>
    fetch(`${url}/v3/gnql/validate`, { method: "POST", headers: caller, body: JSON.stringify({ query }) });
  const long = Array.from({ length: 400 }, (_, number) => `unknown_${number}:x`).join(" ");
  const first = ask(url, "/v3/ip/45.0.0.1", withoutKey(1));
  await eventually(async () => expect(app.admission.inFlight()).toBe(1));
  const path = `/v3/gnql/count?query=${encodeURIComponent(long)}`;
  const waiting = [validate(withoutKey(1), long), fetch(url + path, { headers: withoutKey(1) })];
  await eventually(async () => expect(app.admission.queued()).toBe(2));
  expect((await validate(withoutKey(1), "unknown_1:x")).status).toBe(200);
  expect((await validate(withoutKey(2), long)).status).toBe(200);
  release();
  expect((await first).status).toBe(200);
  expect(await statusesOf(waiting)).toEqual([200, 400]);
});

test("a query that waits too long is a 503, and one whose client disconnects frees its place in the queue", async () => {
  const { url, release } = await serve({ queryCapacity: 4, maxWaitMs: 1_000 }, true);
  const first = ask(url, "/v3/ip/45.0.0.1", withoutKey(1));
  await eventually(async () => expect(app.admission.inFlight()).toBe(1));
  const leaving = new AbortController();
  const left = fetch(`${url}/v3/ip/45.0.0.2`, { headers: withoutKey(1), signal: leaving.signal });
  await eventually(async () => expect(app.admission.queued()).toBe(1));
  leaving.abort();
  await expect(left).rejects.toThrow();
  await eventually(async () => expect(app.admission.queued()).toBe(0));
  expect(await ask(url, "/v3/ip/45.0.0.3", withoutKey(1))).toEqual({
    status: 503,
    body: { message: "The query waited 1 seconds for its turn: send the request again later" },
  });
  release();
  expect((await first).status).toBe(200);
});

test("a request with many addresses is rejected before its body has arrived", async () => {
  const { url, port, release } = await serve({ queryCapacity: 4 }, true);
  const asked = Array.from({ length: 9 }, (_, number) => ask(url, `/v3/ip/45.0.0.${number}`, withoutKey(1)));
  await eventually(async () => expect(app.admission.queued()).toBe(8));
  const socket = connect(port, "127.0.0.1");
  socket.write(
    "POST /v3/ip HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
  );
  const [said] = await once(socket, "data");
  expect(String(said)).toMatch(/^HTTP\/1.1 429 /);
  socket.destroy();
  release();
  await Promise.all(asked);
});

const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

test("pipelined requests get their responses in their order", async () => {
  const { port, release } = await serve({ queryCapacity: 16, maxWaitMs: 60_000 }, true);
  const socket = connect(port, "127.0.0.1");
  const numbers = Array.from({ length: MAX_PIPELINED_REQUESTS }, (_, number) => number);
  socket.write(numbers.map((number) => request(`/v3/ip/45.0.0.${number}`)).join(""));
  await eventually(async () => expect(app.admission.inFlight()).toBeGreaterThan(1));
  release();
  let text = "";
  socket.setEncoding("utf8").on("data", (data: string) => (text += data));
  await eventually(async () => expect(text.match(/HTTP\/1.1 200 OK/g)).toHaveLength(numbers.length));
  const order = [...text.matchAll(/\{"ip":"45\.0\.0\.(\d+)"/g)].map(([, number]) => Number(number));
  expect(order).toEqual(numbers);
  socket.write(request("/healthz"));
  await eventually(async () => expect(text, "and the connection is still open").toContain('{"status":"ok"}'));
  socket.destroy();
});

test("a client that pipelines hundreds of requests on one connection gets a 429 and is disconnected", async () => {
  const { port, release } = await serve({ queryCapacity: 16 }, true);
  const socket = connect(port, "127.0.0.1");
  socket.write(request("/v3/ip/45.0.0.1").repeat(400));
  let text = "";
  socket.setEncoding("utf8").on("data", (data: string) => (text += data));
  await once(socket, "close");
  expect(text).toMatch(/^HTTP\/1.1 429 Too Many Requests\r\n/);
  expect(text.match(/HTTP\/1.1/g)).toHaveLength(1);
  expect(text).toContain('{"message":"More than 32 requests wait on this connection');
  expect(await rejected("pipelining")).toBe(1);
  await eventually(async () => expect(app.admission.inFlight(), "its query has ended").toBe(0));
  release();
});

/** Requests the contexts of 10,000 addresses, some 15 MB, and reads nothing of the response. */
function askUnread(port: number, caller: Caller): Socket {
  const body = JSON.stringify({ ips: KNOWN });
  const fields = Object.entries({ ...caller, "content-type": "application/json", "content-length": body.length });
  const socket = connect(port, "127.0.0.1").pause();
  socket.on("error", () => {});
  socket.write(
    `POST /v3/ip HTTP/1.1\r\nHost: x\r\n${fields.map((field) => `${field.join(": ")}\r\n`).join("")}\r\n${body}`,
  );
  return socket;
}

test("a client that does not read its answer is disconnected, and the answer's memory is released", async () => {
  const { url, port } = await serve({ readingPace: { bytes: 64 * 1024, withinMs: 1_500 } });
  const socket = askUnread(port, withKey(key));
  await eventually(async () => expect(app.responseMemory.used()).toBeGreaterThan(4 * MIB));
  await eventually(async () => expect(await rejected("stalled_reader")).toBe(1));
  await eventually(async () => expect(app.responseMemory.used()).toBe(0));
  socket.destroy();
  const { body } = await ask(url, "/v3/ip", withKey(key), KNOWN);
  expect(body, "a client that reads gets all of it").toMatchObject({ data: { length: 10_000 } });
});

test("unread answers are bounded per caller and in total; more are rejected and take no memory", async () => {
  const { url, port } = await serve({ responseMemoryBytes: 44 * MIB });
  const sockets = [askUnread(port, withKey(key))];
  await eventually(async () => expect(app.admission.inFlight()).toBeGreaterThan(0));
  await eventually(async () =>
    expect([app.admission.inFlight(), app.responseMemory.used() > 5 * MIB]).toEqual([0, true]),
  );
  expect(await ask(url, "/v3/ip", withKey(key), KNOWN)).toEqual({
    status: 429,
    body: { message: "Too many large answers at once: read the open ones before you send more" },
  });
  expect(await ask(url, "/v3/ip", withoutKey(1), KNOWN), "larger than the caller's share").toEqual({
    status: 503,
    body: { message: "The answer is larger than 11 MiB: ask for less" },
  });
  expect((await ask(url, "/v3/ip", withKey(otherKey), KNOWN)).status, "a client that reads is not affected").toBe(200);
  expect((await ask(url, "/v3/community/45.0.0.1", withoutKey(1))).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => expect(app.responseMemory.used()).toBe(0));
});

test("a client's connections beyond the limit get a 429, and when one of the others closes it can open another", async () => {
  app = await makeApp(QUERY_OPERATIONS, world.register, { limits: { connectionsPerClient: 3 } });
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  const open = async () => {
    const socket = connect(Number(port), "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  const sockets = [await open(), await open(), await open()];
  const rejected = await open();
  const [said] = await once(rejected, "data");
  expect(String(said)).toMatch(/^HTTP\/1.1 429 /);
  expect(String(said)).toContain('{"message":"Too many connections: close some before you open more"}');
  rejected.destroy();
  sockets[0]?.destroy();
  await eventually(async () => {
    const next = await open();
    next.write(request("/healthz"));
    const [answer] = await once(next, "data");
    next.destroy();
    expect(String(answer)).toMatch(/^HTTP\/1.1 200 /);
  });
  for (const socket of sockets) socket.destroy();
});
