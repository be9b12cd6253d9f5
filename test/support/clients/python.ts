import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { installPython, runProgram } from "../programs.ts";
import type { Call } from "./operations.ts";
import type { Target } from "./typescript.ts";

const GENERATOR = "openapi-python-client==0.29.1";
const CALLS = fileURLToPath(new URL("call_every_operation.py", import.meta.url));

const answersSchema = z.record(z.string(), z.object({ name: z.string(), status: z.int(), isParsed: z.boolean() }));

/** Installs the generator once, into a folder of its own. @returns the folder of its programs. */
async function installGenerator(): Promise<string> {
  return dirname(await installPython(GENERATOR.replace("==", "-"), [GENERATOR]));
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
    await runProgram(join(bin, "openapi-python-client"), args, env);
    const { url, key, sensorKey } = target;
    const input = JSON.stringify({ calls, url, key, sensorKey });
    const answers: unknown = JSON.parse(await runProgram(join(bin, "python"), [CALLS], { PYTHONPATH: output }, input));
    return answersSchema.parse(answers);
  } finally {
    await rm(folder, { recursive: true });
  }
}
