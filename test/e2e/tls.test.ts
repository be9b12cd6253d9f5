import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import getPort from "get-port";
import { afterEach, beforeEach, expect, test } from "vitest";
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
