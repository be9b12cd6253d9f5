import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { keepOutputTail } from "@noisefloor/telemetry/output-tail.ts";

/** A server that a JVM runs on this machine, for tests. */
export type JavaServer = { end(signal: "SIGTERM" | "SIGKILL"): Promise<void> };

export class JavaServerError extends Error {
  override name = "JavaServerError";
}

/**
 * The folder with a server's jars; downloads them with Maven when they are missing.
 * @param name of the folder, with the release that the pom pins, so that another release gets jars of its own.
 * @throws JavaServerError
 */
export async function ensureJars(name: string, pom: string): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "noisefloor");
  const jars = join(cache, name);
  if (existsSync(jars) && (await readdir(jars)).length > 0) return jars;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(join(cache, "unfinished-"));
  const goal = ["-q", "-B", "-f", pom, "dependency:copy-dependencies", `-DoutputDirectory=${unfinished}`];
  try {
    await promisify(execFile)("mvn", goal);
    // Renamed only when complete: an interrupted download must not look like a finished one.
    await rename(unfinished, jars);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (existsSync(jars)) return jars;
    throw new JavaServerError(
      `could not download the jars of ${name}: install a JVM from 17 on and Maven (${String(error)})`,
    );
  }
  return jars;
}

/**
 * Starts the server's process and waits until it accepts connections at a port of 127.0.0.1. It ends with this process.
 * @param args of `java`: options, the main class and its arguments.
 * @throws JavaServerError with the last output.
 */
export async function startJavaServer(name: string, args: readonly string[], port: number): Promise<JavaServer> {
  const child = spawn("java", args, { stdio: ["ignore", "pipe", "pipe"] });
  const outputTail = keepOutputTail(child);
  const ended = new Promise<void>((settle) => child.once("close", () => settle()));
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    process.removeListener("exit", killAtExit);
    child.kill(signal);
    const killer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await ended;
    clearTimeout(killer);
  };
  for (let attempt = 0; attempt < 600; attempt++) {
    if (child.exitCode !== null) break;
    if (await accepts(port)) return { end };
    await sleep(100);
  }
  await end("SIGTERM");
  throw new JavaServerError(`${name} did not accept connections; its last output:\n${outputTail()}`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((settle) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      settle(true);
    });
    socket.once("error", () => settle(false));
  });
}
