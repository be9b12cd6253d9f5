import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeCertificate, writeCertificate } from "../support/servers/certificates.ts";
import { openCommandLine } from "../support/worlds/command-line.ts";
import { runInProcess } from "../support/worlds/in-process.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-configuration-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** A command that fails in the data directory that its settings name. */
const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runInProcess([...args, "keys", "list"], { DATA_DIR: "", ...env });

test("settings come from the file that --config names, and the environment wins over it", async () => {
  const [inFile, inEnvironment] = [join(folder, "a"), join(folder, "b")];
  const file = await write("noisefloor.yaml", `DATA_DIR: ${inFile}\n`);
  expect((await run(["--config", file])).stderr).toContain(`in the data directory ${inFile}:`);
  expect((await run(["--config", file], { DATA_DIR: inEnvironment })).stderr).toContain(`directory ${inEnvironment}:`);
});

test("a file that is wrong or missing ends the command with the reason, and no stack", async () => {
  const missing = join(folder, "missing.yaml");
  const wrong = await write("wrong.yaml", "RETENTION_DAY: 90\n");
  expect(await run(["--config", missing])).toEqual({
    code: 1,
    stdout: "",
    stderr: `noisefloor: cannot read the configuration file ${missing}: it does not exist\n`,
  });
  expect(await run(["--config", wrong])).toEqual({
    code: 1,
    stdout: "",
    stderr: `noisefloor: invalid configuration file ${wrong}:\n  line 1: there is no setting "RETENTION_DAY": did you mean RETENTION_DAYS?\n`,
  });
});

test("variables that look like settings are named in a warning, all others are not", async () => {
  const commandLine = await openCommandLine();
  const { stderr } = await commandLine.run(["keys", "list"], {
    RETENTION_DAY: "90",
    NOISEFLOOR_COLOUR: "red",
    HTTPS_PROXY: "http://proxy.example",
  }).finished;
  await commandLine.close();
  const warnings = stderr.split("\n").filter((line) => line.startsWith("{"));
  expect(warnings.map((line): unknown => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, variable: "RETENTION_DAY", nearest: "RETENTION_DAYS" }),
    expect.objectContaining({ level: 40, variable: "NOISEFLOOR_COLOUR" }),
  ]);
});

test.runIf(process.platform === "linux")("an impossible data directory is reported immediately", async () => {
  expect(await runInProcess(["start"], { DATA_DIR: "/proc/none", HTTP_PORT: "0" })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^noisefloor: the data directory \/proc\/none cannot be used: ENOENT/),
  });
});

test.each([
  ["a missing file", async () => {}, /^noisefloor: TLS_CERT_FILE: ENOENT.*tls\.crt/],
  [
    "a key of another certificate",
    async (files: { certFile: string; keyFile: string }) => {
      const [{ cert }, { key }] = [await makeCertificate("one"), await makeCertificate("other")];
      await writeCertificate(files, { cert, key });
    },
    /^noisefloor: TLS_KEY_FILE: .*tls\.key is not the key of the certificate in TLS_CERT_FILE/,
  ],
  [
    "a file without a certificate",
    async (files: { certFile: string; keyFile: string }) => {
      await writeCertificate(files, await makeCertificate("one"));
      await writeFile(files.keyFile, "secret");
    },
    /^noisefloor: TLS_KEY_FILE: .*tls\.key holds no PEM private key/,
  ],
])("start over TLS with %s: a sentence, and no server is started", async (_what, prepare, message) => {
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  await prepare({ certFile, keyFile });
  const dataDir = join(folder, "data");
  const https = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, HTTPS_PORT: String(await getPort()) };
  const { code, stderr } = await runInProcess(["start"], { ...https, DATA_DIR: dataDir, HTTP_PORT: "0" });
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/ {4}at |secret/);
  expect(await readdir(folder)).not.toContain("data");
});
