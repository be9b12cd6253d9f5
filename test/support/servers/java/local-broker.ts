import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import getPort from "get-port";
import { openClassArchive } from "./class-archive.ts";
import { ensureJars, startJavaServer } from "./java-server.ts";

const run = promisify(execFile);

/** The release that the pom pins. */
const KAFKA_VERSION = "4.3.0";

export type LocalBroker = {
  /** `host:port` */
  readonly address: string;
  /** Ends the process with the signal and starts it again, at the same address and with its data. */
  restart(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Runs Apache Kafka itself as a process on this machine (one KRaft node, loopback only, data deleted at the end),
 * for tests. Needs a JVM from 17 on, and Maven the first time, to download the jars.
 * @param folder holds the `pom.xml` that pins the jars and the broker's `log4j2.properties`.
 * @throws JavaServerError
 */
export async function startLocalBroker(folder: string): Promise<LocalBroker> {
  const jars = await ensureJars(`kafka-${KAFKA_VERSION}`, join(folder, "pom.xml"));
  const directory = await mkdtemp(join(tmpdir(), "noisefloor-kafka-"));
  const [port, controllerPort] = [await getPort({ host: "127.0.0.1" }), await getPort({ host: "127.0.0.1" })];
  const classes = await openClassArchive(jars, directory);
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
  const format = ["kafka.tools.StorageTool", "format", `--cluster-id=${clusterId}`, "-c", properties];
  await run("java", [...classes.reading, ...java, ...format]);

  const broker = ["-Xmx512m", ...classes.making, ...java, "kafka.Kafka", properties];
  const startBroker = () => startJavaServer("Kafka", broker, port);
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
      await classes.keep().finally(deleteData);
    },
  };
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
