import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createHttpApp } from "../app.ts";

const CHECK_MS = 50;
const KIB = 1024;
let app: FastifyInstance;

beforeAll(async () => {
  app = await listening(CHECK_MS);
});
afterAll(() => app.close());

async function listening(bodyCheckMs: number): Promise<FastifyInstance> {
  const log = pino({ level: "silent" });
  const made = await createHttpApp({ log, metrics: createMetrics(), deadlineMs: 10_000, bodyCheckMs });
  made.route({
    method: ["DELETE", "PATCH", "POST", "PUT"],
    url: "/length",
    handler: async ({ body }) => ({ length: JSON.stringify(body).length }),
  });
  await made.listen({ host: "127.0.0.1", port: 0 });
  return made;
}

/** A connection with the header of a request with a body of this length. */
function begin(bytes: number, to = app, path = "/length", type = "application/json", method = "POST"): Socket {
  const { port }: AddressInfo = Object.assign({ port: 0, address: "", family: "" }, to.server.address());
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${bytes}\r\n\r\n`,
  );
  return socket;
}

/** Everything that the server sends until it ends the connection. */
async function rest(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: string) => (text += chunk)).on("error", () => {});
  await once(socket, "close");
  return text;
}

const TOO_SLOW =
  /^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*\{"message":"The request body arrived too slowly: send it again"\}$/;

test("a body that stalls gets a 408 long before the request timeout, and its connection is closed", async () => {
  const [nothing, almost] = [begin(1_000), begin(1_000)];
  almost.write(`"${"x".repeat(900)}`);
  for (const answer of await Promise.all([rest(nothing), rest(almost)])) expect(answer).toMatch(TOO_SLOW);
});

test.each(["DELETE", "PATCH", "PUT"])("the body of a %s that stalls gets a 408, too", async (method) => {
  const socket = begin(1_000, app, "/length", "application/json", method);
  socket.write(`"${"x".repeat(900)}`);
  expect(await rest(socket)).toMatch(TOO_SLOW);
});

test("a large body that trickles counts as stalled: the more has arrived, the faster the rest must", async () => {
  const socket = begin(1_000 * KIB);
  socket.write(`"${"x".repeat(900 * KIB)}`);
  // Twice the least pace of a small body.
  const drops = setInterval(() => socket.write("x".repeat(CHECK_MS)), CHECK_MS);
  expect(await rest(socket)).toMatch(TOO_SLOW);
  clearInterval(drops);
});

test("a slow body with an even pace arrives", async () => {
  const body = JSON.stringify("x".repeat(998));
  const socket = begin(body.length);
  for (let sent = 0; sent < body.length; sent += 100) {
    socket.write(body.slice(sent, sent + 100));
    await sleep(CHECK_MS);
  }
  const [answer] = await once(socket, "data");
  expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"length":1000\}$/);
  socket.destroy();
});

test("one client's bodies leave memory for those of others, and release theirs when they stall", async () => {
  const slow = await listening(500);
  onTestFinished(() => slow.close());
  const body = JSON.stringify("x".repeat(1_000 * KIB));
  const answers = Array.from({ length: 20 }, async () => {
    const socket = begin(body.length, slow);
    socket.write(body.slice(0, -1));
    const [answer] = await once(socket, "data");
    socket.destroy();
    return z.string().parse(answer);
  });
  expect(await Promise.race(answers)).toMatch(/^HTTP\/1\.1 503 [\s\S]*"Too many request bodies at once:/);
  const ask = (remoteAddress: string) =>
    slow.inject({ method: "POST", url: "/length", payload: { a: 1 }, remoteAddress });
  expect((await ask("192.0.2.1")).statusCode).toBe(200);
  const statuses = (await Promise.all(answers)).map((answer) => answer.slice(9, 12));
  expect(new Set(statuses)).toEqual(new Set(["408", "503"]));
  expect((await ask("127.0.0.1")).statusCode).toBe(200);
});

test("of large bodies that arrive together each is parsed in a turn of the event loop of its own", async () => {
  let turn = 0;
  const turns: number[] = [];
  const made = await createHttpApp({ log: pino({ level: "silent" }), metrics: createMetrics(), deadlineMs: 10_000 });
  onTestFinished(() => made.close());
  made.post("/turn", async () => ({ turn: turns.push(turn) }));
  let immediate = setImmediate(function count() {
    turn++;
    immediate = setImmediate(count);
  });
  const payload = JSON.stringify("x".repeat(40 * KIB));
  const headers = { "content-type": "application/json" };
  await Promise.all(Array.from({ length: 20 }, () => made.inject({ method: "POST", url: "/turn", headers, payload })));
  clearImmediate(immediate);
  expect(new Set(turns).size).toBe(20);
});

test.each([
  ["before it is read", "/unknown", 404],
  ["for its type", "/length", 415],
])("a body that is rejected %s is dropped at a bounded speed", async (_, path, status) => {
  const body = Buffer.alloc(8 * 1024 * KIB, "x");
  const start = performance.now();
  const socket = begin(body.length, app, path, "image/png");
  socket.write(body);
  socket.write("GET /unknown HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const answers = await rest(socket);
  expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => Number(match[1]))).toEqual([status, 404]);
  // The second answer comes after the whole body, half a second's worth.
  expect(performance.now() - start).toBeGreaterThan(400);
});

test.each([
  ["a large body is read", 16 * 1024 * KIB, 400],
  ["the rest of a rejected body is read", 1 * KIB, 413],
])("others get their turn while %s", async (_, bodyLimit, status) => {
  const made = await createHttpApp({ log: pino({ level: "silent" }), metrics: createMetrics(), deadlineMs: 10_000 });
  onTestFinished(() => made.close());
  made.post("/large", { bodyLimit }, async () => ({}));
  let waited = 0;
  // The bytes are there at once: only the pace decides how many turns of the event loop it takes to read them.
  const payload = Readable.from(Array.from({ length: 64 }, () => Buffer.alloc(64 * KIB, "x")));
  let immediate = setImmediate(function count() {
    waited++;
    immediate = setImmediate(count);
  });
  const headers = { "content-type": "application/json" };
  const [{ statusCode }] = await Promise.all([
    made.inject({ method: "POST", url: "/large", headers, payload }),
    once(payload, "end"),
  ]);
  clearImmediate(immediate);
  expect(statusCode).toBe(status);
  expect(waited).toBeGreaterThan(100);
});
