import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { createHttpApp } from "../app.ts";

let app: FastifyInstance;

beforeAll(async () => {
  app = await createHttpApp({ log: pino({ level: "silent" }), metrics: createMetrics(), deadlineMs: 10_000 });
  app.get("/slow/:name", async (request) => {
    await sleep(200);
    return request.params;
  });
  app.get("/endless", async (_request, reply) => reply.type("text/plain").send(Readable.from(endlessText())));
  app.post("/body", async () => ({}));
  await app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(() => app.close());

function* endlessText() {
  for (;;) yield "x".repeat(64 * 1024);
}

/** The statuses and bodies of all responses to some bytes, until the server ends the connection. */
async function answersTo(...parts: readonly string[]): Promise<readonly string[]> {
  const { port }: AddressInfo = Object.assign({ port: 0, address: "", family: "" }, app.server.address());
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  for (const part of parts) {
    socket.write(part);
    if (parts.length > 1) await sleep(50);
  }
  await once(socket, "end");
  socket.destroy();
  return text.split(/(?=HTTP\/1\.1 )/).map((answer) => answer.replace(/^HTTP\/1\.1 (\d+)[\s\S]*\r\n\r\n/, "$1 "));
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const GARBAGE = "this is not HTTP\r\n\r\n";
const MALFORMED = '400 {"message":"Malformed HTTP request"}';

test("malformed bytes get a 400", async () => {
  expect(await answersTo(GARBAGE)).toEqual([MALFORMED]);
});

test("requests before malformed bytes get complete responses, and then the connection ends", async () => {
  const first = '200 {"name":"1"}';
  expect(await answersTo(get("/slow/1") + GARBAGE)).toEqual([first]);
  expect(await answersTo(get("/slow/1") + get("/slow/2") + GARBAGE)).toEqual([first, '200 {"name":"2"}']);
  expect(await answersTo(get("/slow/1"), GARBAGE, GARBAGE)).toEqual([first]);
});

test("a request whose own body is malformed gets a 400 at once", async () => {
  const begun =
    "POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect(await answersTo(`${begun}no length\r\n`)).toEqual([MALFORMED]);
  expect(await answersTo(`${get("/slow/1")}${begun}no length\r\n`)).toEqual(['200 {"name":"1"}']);
});

test("when a connection ends while a response is written, the responses queued behind it are closed and none is started", async () => {
  const { port }: AddressInfo = Object.assign({ port: 0, address: "", family: "" }, app.server.address());
  const [asked, closed, answered] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const record = ({ url = "" }: IncomingMessage, response: ServerResponse) => {
    asked.add(url);
    response.once("close", () => closed.add(url)).once("prefinish", () => answered.add(url));
  };
  app.server.prependListener("request", record);
  onTestFinished(() => void app.server.off("request", record));
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  socket.write(get("/endless") + get("/slow/2") + get("/slow/3"));
  await once(socket, "readable");
  await vi.waitFor(() => expect(asked.size).toBe(3));
  socket.resetAndDestroy();
  await vi.waitFor(() => expect(closed).toEqual(asked));
  expect(answered).toEqual(new Set());
});
