import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { keepOutputTail } from "@noisefloor/telemetry/output-tail.ts";
import getPort from "get-port";

const run = promisify(execFile);

/** The release that the pom pins. The cache folder is named after it, so that another release gets its own jars. */
const KAFKA_VERSION = "4.3.0";

export type LocalBroker = {
  /** `host:port` */
  readonly address: string;
  /** Ends the process with the signal and starts it again, at the same address and with its data. */
  restart(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  stop(): Promise<void>;
};

export class LocalBrokerError extends Error {
  override name = "LocalBrokerError";
}

/**
 * Runs Apache Kafka itself as a process on this machine (one KRaft node, loopback only, data deleted at the end),
 * for development and tests. Needs a JVM from 17 on, and Maven the first time, to download the jars.
 * @param folder holds the `pom.xml` that pins the jars and the broker's `log4j2.properties`.
 */
export async function startLocalBroker(folder: string): Promise<LocalBroker> {
  const jars = await ensureJars(join(folder, "pom.xml"));
  const directory = await mkdtemp(join(tmpdir(), "noisefloor-kafka-"));
  const [port, controllerPort] = [await getPort({ host: "127.0.0.1" }), await getPort({ host: "127.0.0.1" })];
  const properties = join(directory, "server.properties");
  await writeFile(properties, serverProperties(join(directory, "data"), port, controllerPort));
  // It lives for minutes: the second compiler and a parallel collector cost more than they would gain.
  const java = [
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    `-Dlog4j2.configurationFile=${join(folder, "log4j2.properties")}`,
    "-cp",
    join(jars, "*"),
  ];
  // Joined with "=": one id in 64 begins with a dash and would be parsed as an option.
  const clusterId = randomBytes(16).toString("base64url");
  await run("java", [...java, "kafka.tools.StorageTool", "format", `--cluster-id=${clusterId}`, "-c", properties]);

  const startBroker = () => runBroker([...java, "kafka.Kafka", properties], port);
  const deleteData = () => rm(directory, { recursive: true, force: true });
  let running = await startBroker().catch(async (error: unknown) => {
    await deleteData();
    throw error;
  });
  return {
    address: `127.0.0.1:${port}`,
    async restart(signal) {
      await running.end(signal);
      running = await startBroker();
    },
    async stop() {
      await running.end("SIGTERM");
      await deleteData();
    },
  };
}

type RunningBroker = { end(signal: "SIGTERM" | "SIGKILL"): Promise<void> };

/** Starts the broker's process and waits until it accepts connections. */
async function runBroker(java: readonly string[], port: number): Promise<RunningBroker> {
  const child = spawn("java", ["-Xmx512m", ...java], { stdio: ["ignore", "pipe", "pipe"] });
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
  throw new LocalBrokerError(`the Kafka broker did not accept connections; its last output:\n${outputTail()}`);
}

/** The folder with the broker's jars; downloads them with Maven when they are missing. */
async function ensureJars(pom: string): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "noisefloor");
  const jars = join(cache, `kafka-${KAFKA_VERSION}`);
  if (existsSync(jars) && (await readdir(jars)).length > 0) return jars;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(join(cache, "unfinished-"));
  try {
    await run("mvn", ["-q", "-B", "-f", pom, "dependency:copy-dependencies", `-DoutputDirectory=${unfinished}`]);
    // Renamed only when complete: an interrupted download must not look like a finished one.
    await rename(unfinished, jars);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (existsSync(jars)) return jars;
    throw new LocalBrokerError(
      `could not download Kafka's jars: install a JVM from 17 on and Maven, or set KAFKA_BROKERS (${String(error)})`,
    );
  }
  return jars;
}

function serverProperties(data: string, port: number, controllerPort: number): string {
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
log.dirs=${data}
num.partitions=1
auto.create.topics.enable=false
message.max.bytes=16777216
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
metadata.max.idle.interval.ms=0
num.network.threads=1
num.io.threads=2
background.threads=2
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.cleaner.backoff.ms=300
`;
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
