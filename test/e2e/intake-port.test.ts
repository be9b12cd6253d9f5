import { mkdir, readFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import getPort from "get-port";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cowrieLines, visits } from "../support/builders/cowrie-log.ts";
import { makeCertificate, writeCertificate } from "../support/servers/certificates.ts";
import { testInFull } from "../support/test-in-full.ts";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";

const KEY = "a-key-of-the-settings";
const VISITS = visits(5, Date.now() - 3_600_000);

let commandLine: CommandLine;
let env: Record<string, string>;

beforeEach(async () => {
  commandLine = await openCommandLine();
  const folder = join(commandLine.dataDir, "tls");
  await mkdir(folder);
  const files = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  await writeCertificate(files, await makeCertificate("localhost"));
  const [https, intake] = [await getPort(), await getPort()].map(String);
  env = { TLS_CERT_FILE: files.certFile, TLS_KEY_FILE: files.keyFile, SENSOR_KEYS: KEY };
  env = { ...env, HTTPS_PORT: https ?? "", INTAKE_PORT: intake ?? "" };
});
afterEach(() => commandLine.close());

type Sent = { readonly headers?: Record<string, string>; readonly body?: Buffer | string };

/** Verifies the certificate against the file that the operator copies to the sensor, and its address. */
async function send(port: string, method: string, path: string, { headers = {}, body }: Sent = {}) {
  const ca = await readFile(env.TLS_CERT_FILE ?? "");
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

test("a T-Pot sensor delivers to a port of its own, which offers the intake and nothing else", async () => {
  const service = await commandLine.startService([], { ...env, LOG_LEVEL: "info" });
  const { HTTPS_PORT: https = "", INTAKE_PORT: intake = "" } = env;
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

  const others = ["/", `/ip/${VISITS[0]?.ip}`, lookup, "/v3/tags", "/metrics", "/openapi.json", "/docs/", "/nothing"];
  for (const path of others) {
    expect([path, await send(intake, "GET", path)]).toEqual([path, { status: 404, body: { message: "Not found" } }]);
  }
  expect(await send(intake, "POST", "/v3/ip", { headers: { key: KEY }, body: "{}" })).toMatchObject({ status: 404 });
  expect(await send(https, "GET", "/v3/tags?name=ssh")).toMatchObject({ status: 200 });

  service.child.kill("SIGTERM");
  expect((await service.finished).code).toBe(0);
});

testInFull("a process that only answers queries does not open the port", async () => {
  const query = commandLine.run(["query"], { ...env, HTTP_PORT: String(await getPort()), LOG_LEVEL: "info" });
  await expect.poll(() => query.errors(), { timeout: 90_000 }).toContain('"listening"');
  expect(query.errors()).not.toContain("intakeUrl");
  await expect(send(env.INTAKE_PORT ?? "", "GET", "/healthz")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  query.child.kill("SIGTERM");
  expect((await query.finished).code).toBe(0);
});
