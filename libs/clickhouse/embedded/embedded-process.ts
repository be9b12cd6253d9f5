import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { keepOutputTail } from "@noisefloor/telemetry/output-tail.ts";
import { StoreError } from "../client/errors.ts";

/** The release of the platform packages whose engine can listen; see the install instructions below. */
export const EMBEDDED_VERSION = "26.7.3-stable.1";

/** The only variables of our environment that the server gets: SQL must not be a way to the secrets in the others. */
const PASSED_ON = ["LD_LIBRARY_PATH", "TZ"];
/** A server that has not ended this long after its standard input was closed is killed. */
const STOP_MS = 15_000;
const POLL_MS = 50;

export type ProcessOptions = {
  readonly data: string;
  readonly config: string;
  /** The working directory, which is made here and removed before the server listens. */
  readonly nowhere: string;
  /** A loopback address; 127.0.0.1 unless given. */
  readonly host?: string;
  readonly httpPort: number;
  /** For ClickHouse's own protocol; left out, the server speaks only HTTP. */
  readonly tcpPort?: number | undefined;
  readonly environment?: Readonly<Record<string, string>>;
  readonly isReady: () => Promise<boolean>;
  readonly timeoutMs: number;
};

export type ServerEnd = {
  readonly pid: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
};

/** A server process that answers. */
export type ServerProcess = {
  readonly pid: number;
  /** Settles when it has ended, by `stop` or unexpectedly. */
  readonly ended: Promise<ServerEnd>;
  /** Ends it and waits for that. Safe to call twice. */
  stop(): Promise<void>;
};

/**
 * Starts the engine as a server on the loopback address, and waits until it is ready. It ends with this process.
 * @throws StoreError with the server's last output when it ends, or is not ready in time.
 */
export async function startServerProcess(options: ProcessOptions): Promise<ServerProcess> {
  const library = locateLibrary();
  // A start that was killed may have left the folder and in it the file by which the next start is recognised.
  await rm(options.nowhere, { recursive: true, force: true });
  await mkdir(options.nowhere);
  const child = spawnServer(library, options);
  const outputTail = keepOutputTail(child, [child.stderr]);
  child.stdout?.resume();
  const ended = new Promise<ServerEnd>((settle) => {
    child.once("close", (code, signal) => settle({ pid: child.pid ?? 0, code, signal }));
    // A process that could not be started at all.
    child.once("error", () => settle({ pid: 0, code: null, signal: null }));
  });
  try {
    await waitUntilReady(child, outputTail, options);
  } catch (error) {
    child.kill("SIGKILL");
    await ended;
    throw error;
  }
  const stop = async () => {
    child.stdin?.end();
    const killer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(killer);
  };
  return { pid: child.pid ?? 0, ended, stop };
}

function spawnServer(library: string, options: ProcessOptions): ChildProcess {
  const argv = ["--path", options.data, "--config-file", options.config, "--log-level", "warning"];
  argv.push("--listen_host", options.host ?? "127.0.0.1", "--http_port", String(options.httpPort));
  if (options.tcpPort !== undefined) argv.push("--tcp_port", String(options.tcpPort));
  const environment = Object.fromEntries(PASSED_ON.flatMap((name) => passedOn(name, process.env[name])));
  const script = fileURLToPath(new URL("embedded-server.mjs", import.meta.url));
  return spawn(process.execPath, [script, library, ...argv], {
    // A process group of its own: Ctrl-C goes to the whole foreground group and would end the server before its
    // clients had written what they hold.
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    cwd: options.nowhere,
    env: { ...environment, ...options.environment },
  });
}

function passedOn(name: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[name, value]];
}

async function waitUntilReady(
  child: ChildProcess,
  outputTail: () => string,
  { isReady, nowhere, timeoutMs }: ProcessOptions,
): Promise<void> {
  let isGateOpen = false;
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    const hasEnded = child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
    // The engine has a terminal, so it goes on after a query that failed.
    if (hasEnded || outputTail().includes("DB::Exception")) {
      throw new StoreError(`the embedded ClickHouse ended while starting:\n${outputTail()}`);
    }
    if (!isGateOpen) isGateOpen = await openGate(child, nowhere);
    else if (await isReady()) return;
    await sleep(POLL_MS);
  }
  throw new StoreError(
    `the embedded ClickHouse did not answer within ${timeoutMs / 1000} s; its last output:\n${outputTail()}`,
  );
}

/**
 * Lets the server listen once its working directory is gone. With one, every SQL user could read every file that we
 * can: the functions that read files look up the working directory first, and fail without one.
 */
async function openGate(child: ChildProcess, nowhere: string): Promise<boolean> {
  if (!existsSync(join(nowhere, "up"))) return false;
  await rm(nowhere, { recursive: true });
  const gate = child.stdio[3];
  if (gate instanceof Writable) gate.on("error", () => {}).end();
  return true;
}

/** The path of the engine in the platform's package. Throws, with what to do, when the package is not installed. */
export function locateLibrary(platform: string = process.platform, arch: string = process.arch): string {
  const suffix = platform === "linux" ? "-gnu" : "";
  const packageName = `@chdb/lib-${platform}-${arch}${suffix}`;
  try {
    return createRequire(import.meta.url).resolve(`${packageName}/libchdb.so`);
  } catch {
    throw new StoreError(
      `the embedded ClickHouse for ${platform}-${arch} is not installed: run ` +
        `"npm install --no-save ${packageName}@${EMBEDDED_VERSION}", or set CLICKHOUSE_URL to a ClickHouse server`,
    );
  }
}
