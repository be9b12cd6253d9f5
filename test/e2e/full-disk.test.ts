import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BINARY, type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";

let commandLine: CommandLine;

beforeEach(async () => {
  commandLine = await openCommandLine();
});
afterEach(() => commandLine.close());

/** Runs a shell script in which "$@" is the command line, over the same data directory. */
async function inShell(line: string, args: readonly string[], dataDir = commandLine.dataDir) {
  const child = spawn("sh", ["-c", line, "sh", process.execPath, BINARY, ...args], {
    env: { PATH: process.env.PATH, DATA_DIR: dataDir, LOG_LEVEL: "warn" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

test("a data directory that cannot be used is reported in a sentence", async () => {
  const file = join(commandLine.dataDir, "file");
  await writeFile(file, "");
  const explained = (dataDir: string) =>
    expect.stringMatching(
      new RegExp(`^noisefloor: the data directory ${dataDir} cannot be used: E[A-Z]+: [a-z ]+, \\w+.*\\n$`),
    );
  expect(await inShell('exec "$@"', ["migrate"], join(file, "below"))).toEqual({
    code: 1,
    stdout: "",
    stderr: explained(join(file, "below")),
  });
  const { dataDir } = commandLine;
  expect(await inShell('ulimit -f 0; exec "$@"', ["migrate"])).toMatchObject({ code: 1, stderr: explained(dataDir) });
});

test("output that cannot be written is reported in a sentence", async () => {
  // A limit of zero bytes acts like a full disk on every system.
  expect(await inShell('cd "$DATA_DIR"; ulimit -f 0; exec "$@" > output', ["schema"])).toMatchObject({
    code: 1,
    stderr: "noisefloor: the output cannot be written: EFBIG: file too large, write\n",
  });
  expect(await inShell('("$@"; echo $? >&2) | true', ["schema"])).toMatchObject({ stderr: "141\n" });
});
