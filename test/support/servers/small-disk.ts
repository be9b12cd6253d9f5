import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import { BINARY, type Finished } from "../worlds/command-line.ts";
import { runInProcess } from "../worlds/in-process.ts";
import { ensureBuilt } from "./on-demand.ts";

/** `noisefloor start` whose data directory is a disk of its own, which can be filled to the last byte. */
export type SmallDisk = {
  readonly url: string;
  readonly child: ChildProcess;
  /** What the service has written to standard error. */
  errors(): string;
  /** Writes until there is no space left. */
  fill(): Promise<void>;
  /** Removes what `fill` has written. */
  free(): Promise<void>;
  /** Runs a command over the same data directory, in a process of its own. */
  run(...args: string[]): Promise<Finished>;
  /** Runs a command that only prints in this process, see {@link runInProcess}. */
  runHere(...args: string[]): Promise<Finished>;
  close(): Promise<void>;
};

/**
 * The disk is a tmpfs in a mount namespace that begins and ends with the service, so that nothing is left mounted.
 * Needs Linux with user namespaces, or root.
 */
export async function startOnSmallDisk(megabytes: number, env: Record<string, string> = {}): Promise<SmallDisk> {
  const mountPoint = await mkdtemp(join(tmpdir(), "noisefloor-disk-"));
  await ensureBuilt();
  const port = await getPort();
  const mount = `mount -t tmpfs -o size=${megabytes}m tmpfs "$0" && exec "$@"`;
  const child = spawn("unshare", ["-Urm", "sh", "-c", mount, mountPoint, process.execPath, BINARY, "start"], {
    env: {
      PATH: process.env.PATH,
      HTTP_PORT: String(port),
      LOG_LEVEL: "warn",
      ...env,
      DATA_DIR: join(mountPoint, "d"),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = collect(child);
  // The path of the disk from outside the namespace.
  const seen = `/proc/${child.pid}/root${mountPoint}`;
  const filler = `${seen}/filler`;
  await eventually(async () => {
    expect(child.exitCode, output.stderr()).toBeNull();
    expect(output.stdout()).toContain("Ctrl-C stops it.");
  }, 60_000);
  return {
    url: `http://localhost:${port}`,
    child,
    errors: output.stderr,
    fill: () => fillWith(filler),
    free: () => rm(filler),
    async run(...args) {
      const command = spawn(process.execPath, [BINARY, ...args], {
        env: { PATH: process.env.PATH, DATA_DIR: join(seen, "d"), LOG_LEVEL: "warn" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const { stdout, stderr } = collect(command);
      const [code] = await once(command, "close");
      return { code, stdout: stdout(), stderr: stderr() };
    },
    runHere: (...args) => runInProcess(args, { DATA_DIR: join(seen, "d") }),
    async close() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "close");
      await rm(mountPoint, { recursive: true, force: true });
    },
  };
}

function collect(child: ChildProcess) {
  let [stdout, stderr] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return { stdout: () => stdout, stderr: () => stderr };
}

async function fillWith(path: string): Promise<void> {
  const file = await open(path, "a");
  try {
    for (const bytes of [1024 * 1024, 4096, 1]) {
      const block = Buffer.alloc(bytes);
      for (;;) {
        const { bytesWritten } = await file.write(block);
        if (bytesWritten < bytes) break;
      }
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  } finally {
    await file.close();
  }
}
