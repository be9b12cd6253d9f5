import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { keepOutputTail } from "@noisefloor/telemetry/output-tail.ts";
import getPort from "get-port";
import { Redis } from "ioredis";
import { GenericContainer, Wait } from "testcontainers";
import { eventually } from "../eventually.ts";
import { firstAvailable } from "./first-available.ts";
import { CONTAINER_TIMEOUT_MS, hasContainerEngine, type Running } from "./providers.ts";

const POM = fileURLToPath(new URL("redis/pom.xml", import.meta.url));
/** The release that the pom names; part of the cache folder's name, so that a new pom gets binaries of its own. */
const JAR_VERSION = "1.4.4";

/** A real Redis, as a URL: the configured one, else a container, else a process on this machine. */
export function provideRedis(env: NodeJS.ProcessEnv): Promise<Running<string>> {
  return firstAvailable<Running<string>>(
    "Redis server",
    [
      {
        name: "REDIS_URL",
        start: async () => (env.REDIS_URL ? { at: env.REDIS_URL, stop: async () => {} } : undefined),
      },
      {
        name: "a container",
        start: async () => {
          if (!(await hasContainerEngine())) return undefined;
          const container = await new GenericContainer("valkey/valkey:8.1")
            .withExposedPorts(6379)
            .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
            .withStartupTimeout(CONTAINER_TIMEOUT_MS)
            .start();
          const at = `redis://${container.getHost()}:${container.getMappedPort(6379)}`;
          return { at, stop: async () => void (await container.stop()) };
        },
      },
      { name: "a local process", start: startLocalRedis },
    ],
    "Set REDIS_URL, or start Docker, or install Maven on Linux or macOS.",
  );
}

/** Loopback only, nothing on disk. */
async function startLocalRedis(): Promise<Running<string>> {
  const binary = await fetchBinary();
  const port = await getPort({ host: "127.0.0.1" });
  const child = spawn(binary, ["--port", String(port), "--save", "", "--bind", "127.0.0.1"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const outputTail = keepOutputTail(child);
  const ended = new Promise<void>((settle) => child.once("close", () => settle()));
  const failed = new Promise<never>((_, fail) => {
    child.once("error", fail);
    child.once("close", () => fail(new Error(`the Redis server did not start; its last output:\n${outputTail()}`)));
  });
  failed.catch(() => {});
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const stop = async () => {
    process.removeListener("exit", killAtExit);
    child.kill("SIGTERM");
    await ended;
  };
  const at = `redis://127.0.0.1:${port}`;
  await Promise.race([failed, eventually(() => ping(at), 15_000)]);
  return { at, stop };
}

async function ping(url: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  redis.on("error", () => {});
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}

/** The server for this platform, downloaded with Maven if it is missing. */
async function fetchBinary(): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "noisefloor");
  const folder = join(cache, `redis-${JAR_VERSION}`);
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true });
    const unfinished = await mkdtemp(join(cache, "unfinished-"));
    try {
      const goal = ["dependency:unpack-dependencies", `-DoutputDirectory=${unfinished}`];
      await promisify(execFile)("mvn", ["-q", "-B", "-f", POM, ...goal]);
      // Renamed only when complete: an interrupted download must not look like a finished one.
      await rename(unfinished, folder);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      if (!existsSync(folder)) throw error;
    }
  }
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const name = (await readdir(folder)).find((file) => file.endsWith(`-${process.platform}-${architecture}`));
  if (name === undefined) throw new Error(`there is no redis-server for ${process.platform} on ${process.arch}`);
  await chmod(join(folder, name), 0o755);
  return join(folder, name);
}
