import { mkdir, readFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import getPort from "get-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cowrieLines, visits } from "../support/builders/cowrie-log.ts";
import { eventually } from "../support/eventually.ts";
import { makeCertificate, writeCertificate } from "../support/servers/certificates.ts";
import { testInFull } from "../support/test-in-full.ts";
import { type CommandLine, openCommandLine, type Service } from "../support/worlds/command-line.ts";

const KEY = "a-key-of-the-settings";
const VISITS = visits(5, Date.now() - 3_600_000);

/** One service on three ports: each test continues where the previous one ended. */
let commandLine: CommandLine;
let service: Service;
let files: { certFile: string; keyFile: string };
let env: Record<string, string>;
let ports: { https: string; intake: string };

beforeAll(async () => {
  commandLine = await openCommandLine();
  const folder = join(commandLine.dataDir, "tls");
  await mkdir(folder);
  files = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  await writeCertificate(files, await makeCertificate("localhost"));
  ports = { https: String(await getPort()), intake: String(await getPort()) };
  env = { TLS_CERT_FILE: files.certFile, TLS_KEY_FILE: files.keyFile, SENSOR_KEYS: KEY };
  env = { ...env, HTTPS_PORT: ports.https, INTAKE_PORT: ports.intake, LOG_LEVEL: "info" };
  service = await commandLine.startService([], env);
});
afterAll(() => commandLine.close());

type Sent = { readonly headers?: Record<string, string>; readonly body?: Buffer | string };

/** Verifies the certificate against the file that the operator copies to the sensor, and its address. */
async function send(port: string, method: string, path: string, { headers = {}, body }: Sent = {}) {
  const ca = await readFile(files.certFile);
  return new Promise<{ status: number | undefined; body: unknown }>((settle, fail) => {
    const sent = request({ host: "127.0.0.1", port, method, path, headers, ca, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        settle({ status: response.statusCode, body: JSON.parse(text.startsWith("{") ? text : "null") }),
      );
    });
    sent.once("error", fail).end(body);
  });
}

/** What Logstash's HTTP output sends with `json_batch` and `http_compression`, and its answer. */
function sendTpotBatch(port: string, key: string) {
  const common = { type: "Cowrie", "t-pot_hostname": "hive-sensor", "t-pot_ip_ext": "203.0.113.9" };
  const records = VISITS.flatMap(cowrieLines).map((line) => {
    const { timestamp, ...record } = JSON.parse(line);
    return { ...record, ...common, "@timestamp": timestamp };
  });
  const authorization = `Basic ${Buffer.from(`sensor:${key}`).toString("base64")}`;
  const headers = { authorization, "content-type": "application/json", "content-encoding": "gzip" };
  return send(port, "POST", "/", { headers, body: gzipSync(JSON.stringify(records)) });
}

function handshake(): Promise<TLSSocket> {
  return new Promise((settle, fail) => {
    const socket = connect({ port: Number(ports.https), rejectUnauthorized: false }, () => settle(socket));
    socket.once("error", fail);
  });
}

test("one process answers over HTTP and over HTTPS, and says where", async () => {
  const httpsUrl = `https://localhost:${ports.https}`;
  expect(service.output()).toContain(`API and intake  ${service.url} and ${httpsUrl}\n`);
  expect(service.errors()).toContain(`"httpsUrl":"${httpsUrl}"`);
  const plain = await fetch(`${service.url}/v3/tags?name=ssh`);
  const secured = await send(ports.https, "GET", "/v3/tags?name=ssh");
  expect(secured).toEqual({ status: 200, body: await plain.json() });
});

test("a T-Pot sensor delivers to a port of its own, which offers the intake and nothing else", async () => {
  const { https, intake } = ports;
  expect(service.output()).toContain(`Intake alone    https://localhost:${intake}\n`);
  expect(service.errors()).toContain(`"intakeUrl":"https://localhost:${intake}"`);

  expect(await sendTpotBatch(intake, KEY)).toMatchObject({ status: 202, body: { rejected: 0 } });
  expect(await sendTpotBatch(intake, "another-key-than-that")).toMatchObject({ status: 401 });
  const lookup = `/v3/community/${VISITS[0]?.ip}`;
  expect(await send(https, "GET", lookup)).toMatchObject({ status: 200, body: { noise: true } });

  const event = JSON.stringify({ event: JSON.parse(cowrieLines(VISITS[0] ?? expect.fail())[0] ?? "") });
  const headers = { authorization: `Splunk ${KEY}` };
  expect(await send(intake, "POST", "/services/collector/event", { headers, body: event })).toMatchObject({
    status: 200,
  });
  expect(await send(intake, "GET", "/healthz")).toMatchObject({ status: 200, body: { status: "ok" } });
  expect(await send(intake, "GET", "/readyz")).toMatchObject({ status: 200 });

  const bulk = `{"create":{"_index":"cowrie"}}\n${cowrieLines(VISITS[0] ?? expect.fail())[0]}\n`;
  const elastic = {
    authorization: `Basic ${Buffer.from(`elastic:${KEY}`).toString("base64")}`,
    "user-agent": "Logstash/8",
  };
  for (const path of ["/_bulk", "/cowrie/_bulk"]) {
    expect(await send(intake, "POST", path, { headers: elastic, body: bulk })).toMatchObject({
      body: { errors: false },
    });
  }
  for (const path of ["/", "/_license", "/_ingest/pipeline/geoip"]) {
    expect([path, await send(intake, "GET", path, { headers: elastic })]).toMatchObject([path, { status: 200 }]);
  }
  for (const path of ["/metrics", "/docs", "/openapi.json"]) {
    expect(await send(intake, "HEAD", path, { headers: elastic })).toMatchObject({ status: 404 });
  }

  const others = ["/", `/ip/${VISITS[0]?.ip}`, lookup, "/v3/tags", "/metrics", "/openapi.json", "/docs/", "/nothing"];
  for (const path of others) {
    expect([path, await send(intake, "GET", path)]).toEqual([path, { status: 404, body: { message: "Not found" } }]);
  }
  expect(await send(intake, "POST", "/v3/ip", { headers: { key: KEY }, body: "{}" })).toMatchObject({ status: 404 });
});

test("a renewed certificate is used for new connections, and those from before stay open", async () => {
  const open = await handshake();
  await writeCertificate(files, await makeCertificate("second"));
  await eventually(async () => {
    const socket = await handshake();
    const name = socket.getPeerCertificate().subject.CN;
    socket.destroy();
    expect(name).toBe("second");
  }, 10_000);
  open.write("GET /v3/tags HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const answer = await new Promise((settle) => open.once("data", (data: Buffer) => settle(data.toString())));
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  open.destroy();
});

test("a signal stops all of it, and the log holds no key", async () => {
  service.child.kill("SIGINT");
  const { code, stderr } = await service.finished;
  expect(code).toBe(0);
  expect(stderr).toContain('"stopped"');
  expect(stderr).not.toContain("PRIVATE KEY");
});

testInFull("a process that only answers queries does not open the intake's port", async () => {
  const query = commandLine.run(["query"], { ...env, HTTP_PORT: String(await getPort()) });
  await expect.poll(() => query.errors(), { timeout: 90_000 }).toContain('"listening"');
  expect(query.errors()).not.toContain("intakeUrl");
  await expect(send(ports.intake, "GET", "/healthz")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  query.child.kill("SIGTERM");
  expect((await query.finished).code).toBe(0);
});
