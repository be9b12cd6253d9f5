import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";

let commandLine: CommandLine;

beforeAll(async () => {
  commandLine = await openCommandLine();
});
afterAll(() => commandLine.close());

async function write(name: string, text: string): Promise<string> {
  const path = join(commandLine.dataDir, name);
  await writeFile(path, text);
  return path;
}

/** A command that fails in the data directory that its settings name. */
const run = (args: readonly string[], env: Record<string, string> = {}) =>
  commandLine.run([...args, "keys", "list"], { DATA_DIR: "", ...env }).finished;

test("settings come from the file that --config names, and the environment wins over it", async () => {
  const [inFile, inEnvironment] = [join(commandLine.dataDir, "a"), join(commandLine.dataDir, "b")];
  const file = await write("noisefloor.yaml", `DATA_DIR: ${inFile}\n`);
  expect((await run(["--config", file])).stderr).toContain(`in the data directory ${inFile}:`);
  expect((await run(["--config", file], { DATA_DIR: inEnvironment })).stderr).toContain(`directory ${inEnvironment}:`);
});

test("a file that is wrong or missing ends the command with the reason, and no stack", async () => {
  const missing = join(commandLine.dataDir, "missing.yaml");
  const wrong = await write("wrong.yaml", "RETENTION_DAY: 90\n");
  const [first, second] = await Promise.all([run(["--config", missing]), run(["--config", wrong])]);
  expect([first.code, first.stderr]).toEqual([
    1,
    `noisefloor: cannot read the configuration file ${missing}: it does not exist\n`,
  ]);
  expect([second.code, second.stderr]).toEqual([
    1,
    `noisefloor: invalid configuration file ${wrong}:\n  line 1: there is no setting "RETENTION_DAY": did you mean RETENTION_DAYS?\n`,
  ]);
});

test("variables that look like settings are named in a warning, all others are not", async () => {
  const { stderr } = await run([], {
    RETENTION_DAY: "90",
    NOISEFLOOR_COLOUR: "red",
    HTTPS_PROXY: "http://proxy.example",
  });
  const warnings = stderr.split("\n").filter((line) => line.startsWith("{"));
  expect(warnings.map((line): unknown => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, variable: "RETENTION_DAY", nearest: "RETENTION_DAYS" }),
    expect.objectContaining({ level: 40, variable: "NOISEFLOOR_COLOUR" }),
  ]);
});

test.runIf(process.platform === "linux")("an impossible data directory is reported immediately", async () => {
  expect(await commandLine.run(["start"], { DATA_DIR: "/proc/none", HTTP_PORT: "0" }).finished).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^noisefloor: the data directory \/proc\/none cannot be used: ENOENT/),
  });
});
