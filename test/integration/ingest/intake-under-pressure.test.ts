import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observationLine } from "../../support/builders/observation.ts";
import { eventually, throughout } from "../../support/eventually.ts";
import { expectDescribed } from "../../support/oracle/description.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { testInFull } from "../../support/test-in-full.ts";
import { atVolume } from "../../support/volume.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const MIB = 1024 * 1024;
/** Bodies and the memory for them are this part of the largest. */
const SCALE = atVolume(16, 1);
let world: World;
let app: FastifyInstance;

beforeEach(async () => {
  world = await createWorld(() => NOW);
  app = await makeApp(INGEST_OPERATIONS, (await openIngest((128 * MIB) / SCALE)).register);
});
afterEach(async () => {
  await app.close();
  await world.close();
});

/** @param requestMemoryBytes the production default when undefined. */
function openIngest(requestMemoryBytes: number | undefined, sensorKeys: readonly string[] = []) {
  return ingestOf(world, undefined, () => NOW, sensorKeys, undefined, undefined, { requestMemoryBytes });
}
const seen = (ip: string) => observationLine(ip, NOW - 1_000);
/** A body of this size, nearly all of it white space. */
const large = (ip: string, bytes: number) => Buffer.concat([Buffer.alloc(bytes, " "), Buffer.from(seen(ip))]);

async function post(payload: string | Buffer, headers: Record<string, string> = {}, remoteAddress = "127.0.0.1") {
  const response = await app.inject({ method: "POST", url: "/v1/observations", payload, headers, remoteAddress });
  expectDescribed("POST", "/v1/observations", response.statusCode, response.json());
  return { status: response.statusCode, body: response.json() };
}

const alter = (what: string) => world.client.command({ query: `ALTER TABLE observations ${what}` });
/** Makes inserts fail with "too many parts". @returns a function that ends that. */
async function blockInserts(): Promise<() => Promise<unknown>> {
  await world.store([JSON.parse(seen("45.0.0.1"))]);
  await alter("MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1");
  return () => alter("RESET SETTING parts_to_throw_insert");
}
const addresses = async () => (await readStored(world)).map(({ ip }) => ip);

const BUSY = { status: 503, body: { message: "The intake is busy: send the request again in a few seconds" } };

test.each([
  { how: "uncompressed", pack: (body: Buffer) => body, headers: {} },
  {
    how: "compressed to a thousandth",
    pack: (body: Buffer) => gzipSync(body),
    headers: { "content-encoding": "gzip" },
  },
])(
  "while the store is behind, requests in memory are bounded, whether bodies come $how; further ones get a 503",
  async ({ pack, headers }) => {
    const resume = await blockInserts();
    const answers = Array.from({ length: 8 }, (_, n) =>
      post(pack(large(`45.1.8.${n}`, (30 * MIB) / SCALE)), headers, `192.0.2.${n}`),
    );
    expect(await Promise.race(answers)).toEqual(BUSY);
    await resume();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    const accepted = statuses.filter((status) => status === 202).length;
    expect([accepted > 0, accepted <= 4]).toEqual([true, true]);
    expect(await addresses()).toHaveLength(1 + accepted);
    expect(await post(seen("45.1.9.1")), "and accepted again afterwards").toMatchObject({ status: 202 });
  },
);

test("requests with very many tiny records get a 503 by the memory that these take", async () => {
  const resume = await blockInserts();
  const bomb = (ip: string) => gzipSync(Buffer.from(`${seen(ip)}\n${"1\n".repeat(50_000 / SCALE - 1)}`));
  const answers = Array.from({ length: 8 }, (_, n) =>
    post(bomb(`45.1.4.${n}`), { "content-encoding": "gzip" }, `192.0.2.${n}`),
  );
  expect(await Promise.race(answers)).toEqual(BUSY);
  await resume();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  const accepted = statuses.filter((status) => status === 202).length;
  expect([accepted > 0, accepted <= 5]).toEqual([true, true]);
  expect(await addresses()).toHaveLength(1 + accepted);
});

testInFull("the largest request is accepted when no other waits", async () => {
  const unscaled = await makeApp(INGEST_OPERATIONS, (await openIngest(undefined)).register);
  onTestFinished(() => unscaled.close());
  const largest = Array.from({ length: 50_000 }, () => `${seen("45.2.0.1")}${" ".repeat(550)}`).join("\n");
  expect([largest.length > 30 * MIB, largest.length <= 32 * MIB]).toEqual([true, true]);
  const response = await unscaled.inject({ method: "POST", url: "/v1/observations", payload: largest });
  expect([response.statusCode, response.json()]).toMatchObject([202, { accepted: 50_000 }]);
});

test("bodies of one key that stall leave memory for other senders, and are ended", async () => {
  const [key, other] = ["key-of-one-sensor", "key-of-the-others"];
  const { register } = await openIngest(undefined, [key, other]);
  const guarded = await makeApp(INGEST_OPERATIONS, register, { bodyCheckMs: 1_000 });
  onTestFinished(() => guarded.close());
  const url = new URL(await guarded.listen({ host: "127.0.0.1", port: 0 }));
  const post = async (withKey: string, ip: string) =>
    (await fetch(new URL("/v1/observations", url), { method: "POST", body: seen(ip), headers: { key: withKey } }))
      .status;
  /** Sends almost 32 MiB and then nothing; `answer` is the status of the response. */
  const stall = async () => {
    const socket = connect(Number(url.port), "127.0.0.1").setEncoding("utf8");
    onTestFinished(() => void socket.destroy());
    const answer = once(socket, "data").then(([text]) => z.string().parse(text).slice(9, 12));
    const head = `POST /v1/observations HTTP/1.1\r\nHost: localhost\r\nKey: ${key}\r\nContent-Length: ${32 * MIB}\r\n\r\n`;
    socket.write(head);
    await new Promise((settle) => socket.write(Buffer.alloc(31 * MIB, " "), settle));
    return { answer };
  };
  const stalled = await Promise.all([stall(), stall()]);
  expect(await (await stall()).answer, "more than half").toBe("503");
  expect(await post(other, "45.1.3.2")).toBe(202);
  expect(await Promise.all(stalled.map(({ answer }) => answer))).toEqual(["408", "408"]);
  expect(await post(key, "45.1.3.3")).toBe(202);
});

test("a small request without Content-Length reserves no more memory than it needs", async () => {
  const resume = await blockInserts();
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  const body = (ip: string) => new Blob([seen(ip)]).stream();
  const chunked = (n: number) =>
    fetch(`http://127.0.0.1:${port}/v1/observations`, { method: "POST", body: body(`45.1.7.${n}`), duplex: "half" });
  let requests = 0;
  app.server.on("request", () => requests++);
  const answers = Array.from({ length: 20 }, (_, n) => chunked(n));
  await eventually(async () => expect(requests).toBe(20));
  await resume();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 202));
});

test("a request whose client has disconnected is not stored later, as it will be sent again", async () => {
  const resume = await blockInserts();
  const url = `${await app.listen({ host: "127.0.0.1", port: 0 })}/v1/observations`;
  const asked = once(app.server, "request");
  const timeout = AbortSignal.timeout(700);
  await expect(fetch(url, { method: "POST", body: seen("45.1.6.1"), signal: timeout })).rejects.toThrow("timeout");
  const [{ socket }] = await asked;
  await eventually(async () => expect(socket.destroyed).toBe(true));
  // An insert that is under way at the disconnection fails before inserts work again.
  await throughout(500, async () => expect(await addresses()).toEqual(["45.0.0.1"]));
  await resume();
  expect(await post(seen("45.1.6.2"))).toMatchObject({ status: 202 });
  // Retries come more often than this.
  await throughout(1_500, async () => expect(await addresses()).toEqual(["45.0.0.1", "45.1.6.2"]));
});

test("when a dead letter cannot be stored the good records are not stored either: sent again, they count once", async () => {
  const body = `${seen("45.1.5.1")}\n{not json`;
  await world.client.command({ query: "RENAME TABLE dead_letters TO elsewhere" });
  expect((await app.inject({ method: "POST", url: "/v1/observations", payload: body })).statusCode).toBe(500);
  await world.client.command({ query: "RENAME TABLE elsewhere TO dead_letters" });
  expect(await post(body)).toMatchObject({ status: 202, body: { accepted: 1, rejected: 1 } });
  expect(await addresses()).toEqual(["45.1.5.1"]);
});
