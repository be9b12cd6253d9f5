import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { storeList } from "../../support/builders/feed-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { startFeedProcess } from "../../support/worlds/feed-process.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const MIB = 1024 * 1024;
/** More than the system's buffers of a connection hold. */
const ADDRESSES = Uint32Array.from({ length: 1_000_000 }, (_, index) => 0xc0_00_00_00 + index);
const now = Date.now();
let world: World;
let key: string;
let app: FastifyInstance;

beforeAll(async () => {
  world = await createWorld(() => now);
  await world.store([observation("45.0.0.1", now - 60_000)]);
  key = await world.addCaller("unlimited");
  const payload = { query: "*", limit: 1_000_000 };
  const put = await world.app.inject({ method: "PUT", url: "/v3/feeds/large", headers: { key }, payload });
  const { id } = put.json();
  await storeList(world.feeds.feeds.lists, id, ADDRESSES, { now: now + 1_000, basis: now + 1_000 });
});
afterAll(() => world.close());
afterEach(() => app?.close());

const serve = (responseMemoryBytes: number) =>
  makeApp(QUERY_OPERATIONS, world.register, { limits: { responseMemoryBytes } });

test("a list that its clients have not read takes response memory once a workspace, until they are gone", async () => {
  app = await serve(64 * MIB);
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  const askUnread = async () => {
    const socket = connect(Number(port), "127.0.0.1");
    await once(socket, "connect");
    socket.write(`GET /v3/feeds/large.txt HTTP/1.1\r\nhost: a\r\nkey: ${key}\r\n\r\n`);
    await once(socket, "readable");
    return socket;
  };
  const first = await askUnread();
  const size = app.responseMemory.used();
  expect(size).toBeGreaterThan(10 * MIB);
  const others = [await askUnread(), await askUnread(), await askUnread()];
  expect(app.responseMemory.used()).toBe(size);
  first.destroy();
  const connections = () => new Promise((settle) => app.server.getConnections((_, count) => settle(count)));
  await eventually(async () => expect(await connections()).toBe(others.length));
  expect(app.responseMemory.used()).toBe(size);
  for (const socket of others) socket.destroy();
  await eventually(async () => expect(app.responseMemory.used()).toBe(0));
  const unchanged = await app.inject({ url: "/v3/feeds/large.txt", headers: { key } });
  expect(unchanged.body.length).toBe(size);
});

test("a list that is larger than a workspace's share of the memory is a 503 that says so, and holds none", async () => {
  app = await serve(16 * MIB);
  const answer = await app.inject({ url: "/v3/feeds/large.txt", headers: { key } });
  expect([answer.statusCode, answer.json()]).toEqual([
    503,
    { message: "The answer is larger than 8 MiB: ask for less" },
  ]);
  expect([app.responseMemory.used(), app.admission.inFlight()]).toEqual([0, 0]);
});

test("however many feeds requests wait for, at most three of a workspace are refreshed at the same time, and all of them are", async () => {
  const read = reader(world.client, { maxSeconds: 60 });
  let running = 0;
  let max = 0;
  const process = await startFeedProcess(world, () => now, {
    async read(query, params, signal) {
      if (query.name !== "feed-addresses") return read(query, params, signal);
      running++;
      max = Math.max(max, running);
      try {
        // Long enough for others to begin meanwhile.
        await sleep(100);
        return await read(query, params, signal);
      } finally {
        running--;
      }
    },
  });
  try {
    const names = Array.from({ length: 12 }, (_, index) => `many-${index}`);
    const puts = names.map((name) =>
      process.app.inject({ method: "PUT", url: `/v3/feeds/${name}`, headers: { key }, payload: { query: "*" } }),
    );
    const counts = (await Promise.all(puts)).map((answer) => answer.json().count);
    expect(counts).toEqual(names.map(() => 1));
    expect(max).toBe(3);
  } finally {
    await process.stop();
  }
});
