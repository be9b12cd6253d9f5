import { mkdir, readdir, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import getPort from "get-port";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { makeCertificate, writeCertificate } from "../support/servers/certificates.ts";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";

let commandLine: CommandLine;
let files: { certFile: string; keyFile: string };
let env: Record<string, string>;

beforeEach(async () => {
  commandLine = await openCommandLine();
  const folder = join(commandLine.dataDir, "tls");
  await mkdir(folder);
  files = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  env = { TLS_CERT_FILE: files.certFile, TLS_KEY_FILE: files.keyFile, HTTPS_PORT: String(await getPort()) };
});
afterEach(() => commandLine.close());

function getOverTls(url: string): Promise<{ status: number | undefined; body: unknown }> {
  return new Promise((settle, fail) => {
    const asked = request(url, { rejectUnauthorized: false, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => settle({ status: response.statusCode, body: JSON.parse(text) }));
    });
    asked.once("error", fail).end();
  });
}

function handshake(): Promise<TLSSocket> {
  return new Promise((settle, fail) => {
    const socket = connect({ port: Number(env.HTTPS_PORT), rejectUnauthorized: false }, () => settle(socket));
    socket.once("error", fail);
  });
}

test("one process serves both, uses a renewed certificate, and stops cleanly", async () => {
  await writeCertificate(files, await makeCertificate("first"));
  const service = await commandLine.startService([], { ...env, LOG_LEVEL: "info" });
  const httpsUrl = `https://localhost:${env.HTTPS_PORT}`;
  expect(service.output()).toContain(`API and intake  ${service.url} and ${httpsUrl}\n`);
  expect(service.errors()).toContain(`"httpsUrl":"${httpsUrl}"`);
  const plain = await fetch(`${service.url}/v3/tags?name=ssh`);
  expect(await getOverTls(`${httpsUrl}/v3/tags?name=ssh`)).toEqual({ status: plain.status, body: await plain.json() });

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
  expect(answer, "on the connection from before").toMatch(/^HTTP\/1\.1 200 /);

  service.child.kill("SIGINT");
  const { code, stderr } = await service.finished;
  expect(code).toBe(0);
  expect(stderr).toContain('"stopped"');
  expect(stderr).not.toContain("PRIVATE KEY");
});

test.each([
  ["a missing file", async () => {}, /^noisefloor: TLS_CERT_FILE: ENOENT.*tls\.crt/],
  [
    "a key of another certificate",
    async () => {
      const [{ cert }, { key }] = [await makeCertificate("one"), await makeCertificate("other")];
      await writeCertificate(files, { cert, key });
    },
    /^noisefloor: TLS_KEY_FILE: .*tls\.key is not the key of the certificate in TLS_CERT_FILE/,
  ],
  [
    "a file without a certificate",
    async () => {
      await writeCertificate(files, await makeCertificate("one"));
      await writeFile(files.keyFile, "secret");
    },
    /^noisefloor: TLS_KEY_FILE: .*tls\.key holds no PEM private key/,
  ],
])("%s: a sentence and exit code 1", async (_what, prepare, message) => {
  await prepare();
  const { code, stderr } = await commandLine.run(["start"], { ...env, HTTP_PORT: "0" }).finished;
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/ {4}at |secret/);
  expect(await readdir(commandLine.dataDir), "no server was started, and no database created").toEqual(["tls"]);
});
