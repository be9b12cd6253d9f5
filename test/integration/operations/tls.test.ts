import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type Server } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionOptions, connect, type SecureVersion, type TLSSocket } from "node:tls";
import { closeHttpApp, listenHttpApp } from "@noisefloor/http/server/listen.ts";
import { createTlsServer, TlsFilesError } from "@noisefloor/http/server/tls.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app.ts";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeCertificate, replaceFile, writeCertificate } from "../../support/servers/certificates.ts";
import { makeApp, silent } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const INTERVAL_MS = 200;
let world: World;
let app: FastifyInstance;
let directory: string;
let files: { certFile: string; keyFile: string };
let httpPort: number;
let httpsPort: number;
let https: Server;
let logged: string;

beforeAll(async () => {
  world = await createWorld(Date.now);
});
afterAll(() => world.close());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "noisefloor-tls-"));
  files = { certFile: join(directory, "tls.crt"), keyFile: join(directory, "tls.key") };
  await writeCertificate(files, await makeCertificate("first"));
  app = await makeApp(QUERY_OPERATIONS, world.register);
  app.get("/protocol", async (request) => ({ protocol: request.protocol }));
  logged = "";
  const write = (line: string) => {
    logged += line;
  };
  const log = pino({ level: "trace" }, { write });
  https = await createTlsServer(app, files, log, INTERVAL_MS);
  httpsPort = (await listenHttpApp(app, { host: "127.0.0.1", port: 0 }, { server: https, port: 0 })) ?? 0;
  const address = app.server.address();
  httpPort = typeof address === "object" && address !== null ? address.port : 0;
});
afterEach(async () => {
  expect(logged, "key material in the log").not.toMatch(/PRIVATE KEY|BEGIN/);
  await closeHttpApp(app, https);
  await rm(directory, { recursive: true });
});

type Answer = { status: number | undefined; headers: Record<string, unknown>; body: unknown };

/** @param agent what keeps the connection; without one every request opens its own. */
function get(scheme: "http" | "https", path: string, agent?: Agent): Promise<Answer> {
  const options = {
    host: "127.0.0.1",
    port: scheme === "http" ? httpPort : httpsPort,
    path,
    rejectUnauthorized: false,
  };
  return new Promise((settle, fail) => {
    const send = scheme === "http" ? httpRequest : httpsRequest;
    const request = send({ ...options, agent: agent ?? false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        settle({ status: response.statusCode, headers: { ...response.headers }, body: JSON.parse(text) }),
      );
    });
    request.once("error", fail).end();
  });
}

/** A finished handshake. */
function handshake(options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((settle, fail) => {
    const socket = connect({ host: "127.0.0.1", port: httpsPort, rejectUnauthorized: false, ...options }, () =>
      settle(socket),
    );
    socket.once("error", fail);
  });
}

/** The name in the certificate that a new connection gets. */
async function servedName(): Promise<string> {
  const socket = await handshake();
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return String(name);
}

test.each(["/v3/tags", "/v3/community/45.0.0.1", "/v3/community/10.0.0.1", "/nothing", "//v3/tags"])(
  "both ports answer the same at %s",
  async (path) => {
    const [plain, tls] = [await get("http", path), await get("https", path)];
    for (const { headers } of [plain, tls]) {
      delete headers.date;
      delete headers["x-request-id"];
      // The lookups of both are counted together.
      delete headers["ratelimit-remaining"];
      delete headers["ratelimit-reset"];
    }
    expect(tls).toEqual(plain);
    expect(tls.headers["content-type"]).toMatch(/^application\/json/);
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
  for (const socket of [connectPlain(httpPort, "127.0.0.1"), await handshake()]) {
    expect(await ask(socket)).toMatch(new RegExp(`^HTTP/1\\.1 400 [\\s\\S]*\r\n\r\n\\{"message":"${message}"\\}$`));
  }
});

test("a request knows whether it came over HTTP or HTTPS", async () => {
  expect((await get("http", "/protocol")).body).toEqual({ protocol: "http" });
  expect((await get("https", "/protocol")).body).toEqual({ protocol: "https" });
});

test("both keep an idle connection for the same time", async () => {
  const kept: unknown[] = [];
  for (const [scheme, agent] of [
    ["http", new Agent({ keepAlive: true })],
    ["https", new HttpsAgent({ keepAlive: true })],
  ] as const) {
    kept.push((await get(scheme, "/v3/tags", agent)).headers["keep-alive"]);
    agent.destroy();
  }
  expect(kept).toEqual(["timeout=72", "timeout=72"]);
});

test("new connections get a renewed certificate, and an open one continues", async () => {
  const agent = new HttpsAgent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  let connections = 0;
  const create = agent.createConnection.bind(agent);
  agent.createConnection = (...args: Parameters<typeof create>) => {
    connections++;
    return create(...args);
  };
  expect((await get("https", "/v3/tags", agent)).status).toBe(200);
  expect(await servedName()).toBe("first");
  await writeCertificate(files, await makeCertificate("second"));
  await eventually(async () => expect(await servedName()).toBe("second"), 5_000);
  expect((await get("https", "/v3/tags", agent)).status).toBe(200);
  expect(connections).toBe(1);
  agent.destroy();
  expect(logged).toMatch(/"CN=second".*renewed/);
});

test("a renewal by changing where a link points is noticed, as Kubernetes does it", async () => {
  for (const name of ["one", "two"]) {
    await mkdir(join(directory, name));
    const inside = { certFile: join(directory, name, "tls.crt"), keyFile: join(directory, name, "tls.key") };
    await writeCertificate(inside, await makeCertificate(name));
  }
  await symlink("one", join(directory, "data"));
  for (const file of ["tls.crt", "tls.key"]) {
    await symlink(join("data", file), join(directory, "link"));
    await rename(join(directory, "link"), join(directory, file));
  }
  await eventually(async () => expect(await servedName()).toBe("one"), 5_000);
  await symlink("two", join(directory, "data-new"));
  await rename(join(directory, "data-new"), join(directory, "data"));
  await eventually(async () => expect(await servedName()).toBe("two"), 5_000);
});

test("a session from before the renewal is not resumed with the old certificate", async () => {
  const before = await handshake({ maxVersion: "TLSv1.2" });
  const session = before.getSession();
  before.destroy();
  await writeCertificate(files, await makeCertificate("second"));
  await eventually(async () => expect(await servedName()).toBe("second"), 5_000);
  const after = await handshake({ maxVersion: "TLSv1.2", ...(session && { session }) });
  expect(after.isSessionReused()).toBe(false);
  expect(after.getPeerCertificate().subject.CN).toBe("second");
  after.destroy();
});

test.each([
  ["a key of another certificate", async () => replaceFile(files.keyFile, (await makeCertificate("other")).key)],
  ["a key of another kind", async () => replaceFile(files.keyFile, (await makeCertificate("other", "rsa")).key)],
  ["half a certificate", async () => replaceFile(files.certFile, (await makeCertificate("other")).cert.slice(0, 300))],
  [
    "a chain that ends in the middle",
    async () => replaceFile(files.certFile, (await makeCertificate("other")).cert.repeat(2).slice(0, -200)),
  ],
  ["an empty file", async () => replaceFile(files.keyFile, "")],
  ["no file at all", async () => rm(files.certFile)],
])("%s: the old certificate stays in use, with one warning, until the pair fits again", async (_what, spoil) => {
  await spoil();
  await eventually(async () => expect(logged).toContain("serving the last certificate"), 5_000);
  await sleep(5 * INTERVAL_MS);
  expect(logged.match(/serving the last certificate/g)).toHaveLength(1);
  expect(await servedName()).toBe("first");
  expect((await get("https", "/v3/tags")).status).toBe(200);
  await writeCertificate(files, await makeCertificate("third"));
  await eventually(async () => expect(await servedName()).toBe("third"), 5_000);
});

test.each<[SecureVersion]>([["TLSv1"], ["TLSv1.1"]])("%s is rejected", async (version) => {
  // At security level 0 this client itself would speak it.
  const old = { minVersion: version, maxVersion: version, ciphers: "ALL:@SECLEVEL=0" };
  await expect(handshake(old)).rejects.toMatchObject({ code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION" });
});

test.each<[SecureVersion]>([["TLSv1.2"], ["TLSv1.3"]])("%s is spoken", async (version) => {
  const socket = await handshake({ minVersion: version, maxVersion: version });
  expect(socket.getProtocol()).toBe(version);
  socket.destroy();
});

/** What comes back until the server ends the connection. */
function replyOn(socket: NodeJS.ReadWriteStream): Promise<string> {
  return new Promise((settle, fail) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.once("end", () => settle(text)).once("error", fail);
  });
}

test.each([
  ["no HTTP at all", "this is not HTTP\r\n\r\n", 400, "Malformed HTTP request"],
  [
    "too large a header",
    `GET / HTTP/1.1\r\nHost: x\r\nx: ${"x".repeat(20_000)}\r\n\r\n`,
    431,
    "The request header is too large",
  ],
])("%s gets a JSON error over both", async (_what, sent, status, message) => {
  for (const socket of [connectPlain(httpPort, "127.0.0.1"), await handshake()]) {
    socket.write(sent);
    const [head, body] = (await replyOn(socket)).split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*application/json`));
    expect(JSON.parse(body ?? "")).toEqual({ message });
  }
});

test("a request before malformed bytes gets its response over both, and nothing follows it", async () => {
  for (const socket of [connectPlain(httpPort, "127.0.0.1"), await handshake()]) {
    socket.write("GET /v3/tags HTTP/1.1\r\nHost: x\r\n\r\nthis is not HTTP\r\n\r\n");
    const [head, ...bodies] = (await replyOn(socket)).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(bodies).toHaveLength(1);
  }
});

test("plain HTTP on the HTTPS port closes that connection and no other", async () => {
  const socket = connectPlain(httpsPort, "127.0.0.1");
  socket.write("GET /v3/tags HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(await replyOn(socket).catch(() => "")).not.toContain("HTTP/1.1 200");
  expect((await get("https", "/v3/tags")).status).toBe(200);
});

test("a shutdown closes connections without a request, before and after the TLS handshake", async () => {
  const raw = connectPlain(httpsPort, "127.0.0.1");
  await new Promise((settle) => raw.once("connect", settle));
  const half = await handshake();
  half.write("GET /v3/tags HTTP/1.1\r\n");
  const malformed = connectPlain({ port: httpPort, host: "127.0.0.1", allowHalfOpen: true });
  malformed.write("this is not HTTP\r\n\r\n");
  for (const socket of [raw, half, malformed]) socket.on("error", () => {}).resume();
  const begun = Date.now();
  await closeHttpApp(app, https);
  expect(Date.now() - begun).toBeLessThan(8_000);
  await expect(handshake()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  malformed.destroy();
});

test("with one port taken none is open, and the error names it", async () => {
  const other = await createWorld(Date.now);
  const server = await createTlsServer(other.app, files, silent);
  const listening = listenHttpApp(other.app, { host: "127.0.0.1", port: 0 }, { server, port: httpsPort });
  await expect(listening).rejects.toThrow(/^HTTPS_PORT: another process listens/);
  expect(other.app.server.listening).toBe(false);
  await other.close();
});

test.each([
  ["TLS_CERT_FILE: ENOENT", async () => rm(files.certFile)],
  ["TLS_KEY_FILE: ENOENT", async () => rm(files.keyFile)],
  [
    "TLS_CERT_FILE: EISDIR",
    async () => {
      files = { ...files, certFile: directory };
    },
  ],
  ["TLS_CERT_FILE: .*tls.crt holds no PEM certificate", async () => writeFile(files.certFile, "nothing of the kind")],
  ["TLS_KEY_FILE: .*tls.key holds no PEM private key", async () => writeFile(files.keyFile, "nothing of the kind")],
  [
    "TLS_KEY_FILE: .*tls.key is not the key of the certificate in TLS_CERT_FILE, .*tls.crt",
    async () => writeFile(files.keyFile, (await makeCertificate("other")).key),
  ],
])("a start fails with: %s", async (message, spoil) => {
  await spoil();
  const failure = await createTlsServer(app, files, silent).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(TlsFilesError);
  expect(failure).toMatchObject({ message: expect.stringMatching(new RegExp(`^${message}`)) });
});
