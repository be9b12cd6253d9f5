import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findRunning } from "@noisefloor/clickhouse/embedded/embedded-files.ts";
import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import { ensureBuilt } from "../servers/on-demand.ts";

export const BINARY = fileURLToPath(new URL("../../../services/cli/bin/noisefloor.js", import.meta.url));

const [FIRST_LINE = ""] = readFileSync(BINARY, "utf8").split("\n", 1);
/** What the command gives Node, and so does everything that starts the service. */
export const NODE_FLAGS = FIRST_LINE.split(" ").filter((part) => part.startsWith("--"));

/** Characters of standard error that are kept, the last ones: a service under load logs gigabytes. */
const MAX_ERRORS = 1_000_000;

export type Finished = { code: number | null; stdout: string; stderr: string };
export type Started = { child: ChildProcess; output: () => string; errors: () => string; finished: Promise<Finished> };

/** `noisefloor start` that is ready. */
export type Service = Started & { readonly url: string };

/** The command line over a data directory of its own. */
export type CommandLine = {
  readonly dataDir: string;
  /** Runs it as a user would, with no environment of ours but the path. */
  run(args: readonly string[], env?: Record<string, string>): Started;
  /** `noisefloor start`, once it is ready. */
  startService(args?: readonly string[], env?: Record<string, string>): Promise<Service>;
  /** Stops all running processes, and removes the data. */
  close(): Promise<void>;
};

export async function openCommandLine(): Promise<CommandLine> {
  await ensureBuilt();
  const dataDir = await mkdtemp(join(tmpdir(), "noisefloor-cli-"));
  const running: ChildProcess[] = [];
  const killAll = () => {
    for (const child of running) child.kill("SIGKILL");
  };
  process.once("exit", killAll);
  const run: CommandLine["run"] = (args, env = {}) => {
    const child = spawn(process.execPath, [...NODE_FLAGS, BINARY, ...args], {
      env: { PATH: process.env.PATH, DATA_DIR: dataDir, LOG_LEVEL: "warn", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.push(child);
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-MAX_ERRORS)));
    const finished = new Promise<Finished>((settle) => child.once("close", (code) => settle({ code, stdout, stderr })));
    return { child, output: () => stdout, errors: () => stderr, finished };
  };
  return {
    dataDir,
    run,
    async startService(args = [], env = {}) {
      // Whichever port is free: one that is chosen here may be another process's by then.
      const started = run(["start", ...args], { HTTP_PORT: "0", ...env });
      const deadline = performance.now() + 90_000;
      let ended: Finished | undefined;
      void started.finished.then((finished) => {
        ended = finished;
      });
      await eventually(
        async () => expect(started.output(), started.errors()).toContain("Ctrl-C stops it."),
        () => ended !== undefined || performance.now() > deadline,
      );
      const [, url = ""] = /Explorer +(http:\/\/localhost:\d+)\//.exec(started.output()) ?? [];
      return { ...started, url };
    },
    async close() {
      process.removeListener("exit", killAll);
      killAll();
      await eventually(async () => expect(await findRunning(dataDir)).toBeUndefined());
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
