import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Call } from "./operations.ts";
import type { Target } from "./typescript.ts";

const GENERATOR = "openapi-python-client==0.29.1";
const CACHE = join(homedir(), ".cache/noisefloor", GENERATOR.replace("==", "-"));
const CALLS = fileURLToPath(new URL("call_every_operation.py", import.meta.url));

const answersSchema = z.record(z.string(), z.object({ name: z.string(), status: z.int(), isParsed: z.boolean() }));

/** @throws what the program said when it ended with another code than 0. */
function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ""): Promise<string> {
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

/** Installs the generator once, into a folder of its own. @returns the folder of its programs. */
async function installGenerator(): Promise<string> {
  const bin = join(CACHE, "bin");
  if (existsSync(join(bin, "openapi-python-client"))) return bin;
  await mkdir(CACHE, { recursive: true });
  await run("python3", ["-m", "venv", CACHE]);
  await run(join(bin, "pip"), ["install", "--quiet", GENERATOR]);
  return bin;
}

/**
 * Generates a client and calls each operation with it.
 * @returns by operation its name in the client, the status, and whether the body was parsed.
 * @throws also when the generator warns.
 */
export async function callEveryOperationInPython(
  { document, calls }: { readonly document: unknown; readonly calls: readonly Call[] },
  target: Target,
): Promise<z.infer<typeof answersSchema>> {
  const bin = await installGenerator();
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-python-client-"));
  try {
    const described = join(folder, "openapi.json");
    await writeFile(described, JSON.stringify(document));
    const output = join(folder, "client");
    // It formats what it has made with a program beside it.
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const args = ["generate", "--fail-on-warning", "--path", described, "--output-path", output];
    await run(join(bin, "openapi-python-client"), args, env);
    const { url, key, sensorKey } = target;
    const input = JSON.stringify({ calls, url, key, sensorKey });
    const answers: unknown = JSON.parse(await run(join(bin, "python"), [CALLS], { PYTHONPATH: output }, input));
    return answersSchema.parse(answers);
  } finally {
    await rm(folder, { recursive: true });
  }
}
