import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MODULE = fileURLToPath(new URL("./stop-signal.ts", import.meta.url));

/** A process that gets a signal while it starts, before its own handler replaces the first listener. */
const script = (name: string) => `
  const { stopSignal } = await import(${JSON.stringify(MODULE)});
  process.on("${name}", () => process.exit(143));
  process.kill(process.pid, "${name}");
  const signal = stopSignal();
  setTimeout(() => process.stdout.write(signal.aborted ? "asked to stop" : "not asked"), 200);
`;

test.each(["SIGTERM", "SIGINT"])("a %s during the start of the process is not lost", async (name) => {
  const args = ["--import", "tsx/esm", "--input-type=module", "--eval", script(name)];
  expect((await promisify(execFile)(process.execPath, args)).stdout).toBe("asked to stop");
});
