import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Runs a program to its end. @throws what it said when it ended with another code than 0. */
export function runProgram(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input = "",
): Promise<string> {
  return new Promise((settle, fail) => {
    const child = spawn(program, args, { env: { ...process.env, ...env } });
    let [output, said] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    child.once("error", fail);
    child.once("close", (code) => {
      if (code === 0) settle(output);
      else fail(new Error(`${program} ${args[0]} ended with ${code}: ${(said + output).slice(-4_000)}`));
    });
    child.stdin.end(input);
  });
}

/** Installs packages once, into an environment of their own. @returns its Python. */
export async function installPython(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(homedir(), ".cache/noisefloor", name);
  const [python, isDone] = [join(folder, "bin/python"), join(folder, "is-installed")];
  if (existsSync(isDone)) return python;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await runProgram("python3", ["-m", "venv", folder]);
  await runProgram(python, ["-m", "pip", "install", "--quiet", ...packages]);
  await writeFile(isDone, "");
  return python;
}
