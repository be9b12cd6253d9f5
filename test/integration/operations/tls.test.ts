import { Agent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import type { SecureVersion } from "node:tls";
import { listenHttpApp } from "@noisefloor/http/server/listen.ts";
import { createTlsServer } from "@noisefloor/http/server/tls.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { openTlsWorld, type TlsWorld } from "../../support/query/tls-world.ts";
import { silent } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
let tls: TlsWorld;

beforeAll(async () => {
  world = await createWorld(Date.now);
});
afterAll(() => world.close());
beforeEach(async () => {
  tls = await openTlsWorld(world);
});
afterEach(() => tls.close());

test.each(["/v3/tags", "/v3/community/45.0.0.1", "/v3/community/10.0.0.1", "/nothing", "//v3/tags"])(
  "both ports answer the same at %s",
  async (path) => {
    const [plain, encrypted] = [await tls.get("http", path), await tls.get("https", path)];
    for (const { headers } of [plain, encrypted]) {
      delete headers.date;
      delete headers["x-request-id"];
      // The lookups of both are counted together.
      delete headers["ratelimit-remaining"];
      delete headers["ratelimit-reset"];
    }
    expect(encrypted).toEqual(plain);
    expect(encrypted.headers["content-type"]).toMatch(/^application\/json/);
  },
);

test.each([
  ["an unknown Expect is ignored", "Host: x\r\nExpect: 200-ok", "[^}]*routable IPv4 address"],
  ["a request without Host gets a JSON error", "Accept: */*", "Malformed HTTP request"],
])("%s on both ports", async (_what, fields, message) => {
  const ask = (socket: Socket) =>
    new Promise<string>((settle, fail) => {
      let text = "";
      socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      socket.once("error", fail).once("close", () => settle(text));
      socket.write(`GET /v3/community/10.0.0.1 HTTP/1.1\r\n${fields}\r\nConnection: close\r\n\r\n`);
    });
  for (const socket of [connectPlain(tls.httpPort, "127.0.0.1"), await tls.handshake()]) {
    expect(await ask(socket)).toMatch(new RegExp(`^HTTP/1\\.1 400 [\\s\\S]*\r\n\r\n\\{"message":"${message}"\\}$`));
  }
});

test("a request knows whether it came over HTTP or HTTPS", async () => {
  expect((await tls.get("http", "/protocol")).body).toEqual({ protocol: "http" });
  expect((await tls.get("https", "/protocol")).body).toEqual({ protocol: "https" });
});

test("both keep an idle connection for the same time", async () => {
  const kept: unknown[] = [];
  for (const [scheme, agent] of [
    ["http", new Agent({ keepAlive: true })],
    ["https", new HttpsAgent({ keepAlive: true })],
  ] as const) {
    kept.push((await tls.get(scheme, "/v3/tags", agent)).headers["keep-alive"]);
    agent.destroy();
  }
  expect(kept).toEqual(["timeout=72", "timeout=72"]);
});

test.each<[SecureVersion]>([["TLSv1"], ["TLSv1.1"]])("%s is rejected", async (version) => {
  // At security level 0 this client itself supports it.
  const old = { minVersion: version, maxVersion: version, ciphers: "ALL:@SECLEVEL=0" };
  await expect(tls.handshake(old)).rejects.toMatchObject({ code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION" });
});

test.each<[SecureVersion]>([["TLSv1.2"], ["TLSv1.3"]])("%s is supported", async (version) => {
  const socket = await tls.handshake({ minVersion: version, maxVersion: version });
  expect(socket.getProtocol()).toBe(version);
  socket.destroy();
});

/** Everything that the server sends until it ends the connection. */
function replyOn(socket: NodeJS.ReadWriteStream): Promise<string> {
  return new Promise((settle, fail) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.once("end", () => settle(text)).once("error", fail);
  });
}

test.each([
  ["malformed HTTP", "this is not HTTP\r\n\r\n", 400, "Malformed HTTP request"],
  [
    "too large a header",
    `GET / HTTP/1.1\r\nHost: x\r\nx: ${"x".repeat(20_000)}\r\n\r\n`,
    431,
    "The request header is too large",
  ],
])("%s gets a JSON error over both", async (_what, sent, status, message) => {
  for (const socket of [connectPlain(tls.httpPort, "127.0.0.1"), await tls.handshake()]) {
    socket.write(sent);
    const [head, body] = (await replyOn(socket)).split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*application/json`));
    expect(JSON.parse(body ?? "")).toEqual({ message });
  }
});

test("a request before malformed bytes gets its response over both, and nothing follows it", async () => {
  for (const socket of [connectPlain(tls.httpPort, "127.0.0.1"), await tls.handshake()]) {
    socket.write("GET /v3/tags HTTP/1.1\r\nHost: x\r\n\r\nthis is not HTTP\r\n\r\n");
    const [head, ...bodies] = (await replyOn(socket)).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(bodies).toHaveLength(1);
  }
});

test("plain HTTP on the HTTPS port closes that connection and no other", async () => {
  const socket = connectPlain(tls.httpsPort, "127.0.0.1");
  socket.write("GET /v3/tags HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(await replyOn(socket).catch(() => "")).not.toContain("HTTP/1.1 200");
  expect((await tls.get("https", "/v3/tags")).status).toBe(200);
});

test("a shutdown closes connections without a request, before and after the TLS handshake", async () => {
  const raw = connectPlain(tls.httpsPort, "127.0.0.1");
  await new Promise((settle) => raw.once("connect", settle));
  const half = await tls.handshake();
  half.write("GET /v3/tags HTTP/1.1\r\n");
  const malformed = connectPlain({ port: tls.httpPort, host: "127.0.0.1", allowHalfOpen: true });
  malformed.write("this is not HTTP\r\n\r\n");
  for (const socket of [raw, half, malformed]) socket.on("error", () => {}).resume();
  const begun = Date.now();
  await tls.shutDown();
  expect(Date.now() - begun).toBeLessThan(8_000);
  await expect(tls.handshake()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  malformed.destroy();
});

test("with one port taken none is open, and the error names it", async () => {
  const other = await createWorld(Date.now);
  const app = await other.makeApp();
  const server = await createTlsServer(app, { files: tls.files, log: silent });
  const taken = { server, port: tls.httpsPort, portVariable: "HTTPS_PORT" };
  const listening = listenHttpApp(app, { host: "127.0.0.1", port: 0 }, [taken]);
  await expect(listening).rejects.toThrow(/^HTTPS_PORT: another process listens/);
  expect(app.server.listening).toBe(false);
  await other.close();
});
