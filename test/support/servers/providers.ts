import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import getPort from "get-port";
import { GenericContainer, getContainerRuntimeClient, Wait } from "testcontainers";
import { startCluster } from "./cluster.ts";
import { firstAvailable } from "./first-available.ts";
import { startLocalBroker } from "./java/local-broker.ts";

/** A broker that a test can end, and that comes back at the same address with its data. */
export type RestartableBroker = {
  readonly address: string;
  restart(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  stop(): Promise<void>;
};

export type Running<T> = { readonly at: T; readonly stop: () => Promise<void> };

const COMPOSE_FILE = new URL("../../../docker-compose.yml", import.meta.url);
const BROKER_FOLDER = fileURLToPath(new URL("../../../infra/kafka/broker", import.meta.url));
export const CONTAINER_TIMEOUT_MS = 120_000;

/** One KRaft node that is broker and controller. */
const KAFKA_ENVIRONMENT = {
  KAFKA_NODE_ID: "1",
  KAFKA_PROCESS_ROLES: "broker,controller",
  KAFKA_LISTENERS: "PLAINTEXT://:9092,CONTROLLER://:9093",
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
  KAFKA_CONTROLLER_LISTENER_NAMES: "CONTROLLER",
  KAFKA_CONTROLLER_QUORUM_VOTERS: "1@localhost:9093",
  KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: "1",
  KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: "1",
  KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: "1",
  KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: "0",
  KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS: "1000",
  KAFKA_AUTO_CREATE_TOPICS_ENABLE: "false",
  KAFKA_MESSAGE_MAX_BYTES: "16777216",
  KAFKA_LOG_CLEANER_BACKOFF_MS: "300",
};

/** Whether a container engine on this machine responds. */
export async function hasContainerEngine(): Promise<boolean> {
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

/** A real Kafka: the configured brokers, else a container, else a process on this machine. */
export function provideKafka(env: NodeJS.ProcessEnv): Promise<Running<string>> {
  return firstAvailable<Running<string>>(
    "Kafka broker",
    [
      {
        name: "KAFKA_BROKERS",
        start: async () => (env.KAFKA_BROKERS ? { at: env.KAFKA_BROKERS, stop: async () => {} } : undefined),
      },
      {
        name: "a container",
        start: async () => {
          if (!(await hasContainerEngine())) return undefined;
          const broker = await startBrokerContainer();
          return { at: broker.address, stop: broker.stop };
        },
      },
      {
        name: "a local process",
        start: async () => {
          const broker = await startLocalBroker(BROKER_FOLDER);
          return { at: broker.address, stop: broker.stop };
        },
      },
    ],
    "Set KAFKA_BROKERS, or start Docker, or install a JVM from 17 on and Maven.",
  );
}

/** A broker that the caller may restart: a container, else a process on this machine. */
export function startRestartableBroker(): Promise<RestartableBroker> {
  return firstAvailable<RestartableBroker>(
    "Kafka broker of its own",
    [
      {
        name: "a container",
        start: async () => ((await hasContainerEngine()) ? startBrokerContainer() : undefined),
      },
      { name: "a local process", start: () => startLocalBroker(BROKER_FOLDER) },
    ],
    "Start Docker, or install a JVM from 17 on and Maven.",
  );
}

async function startBrokerContainer(): Promise<RestartableBroker> {
  // Brokers advertise their address, so the port must be chosen before the container starts.
  const port = await getPort();
  const container = await new GenericContainer("apache/kafka:4.3.0")
    .withEnvironment({ ...KAFKA_ENVIRONMENT, KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://localhost:${port}` })
    .withExposedPorts({ container: 9092, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(CONTAINER_TIMEOUT_MS)
    .start();
  return {
    address: `localhost:${port}`,
    // An engine stops a container with SIGTERM or, with a timeout of 0, with SIGKILL.
    restart: (signal) => container.restart({ timeout: signal === "SIGKILL" ? 0 : 15 }),
    stop: async () => void (await container.stop()),
  };
}

/**
 * A real ClickHouse: a cluster when TEST_SHARDS says of how many shards, with TEST_REPLICAS of each, else the
 * configured server, else a container, else the embedded one.
 */
export function provideClickHouse(env: NodeJS.ProcessEnv): Promise<Running<ClickHouseConnection>> {
  return firstAvailable<Running<ClickHouseConnection>>(
    "ClickHouse server",
    [
      {
        name: "TEST_SHARDS",
        start: async () => {
          if (!env.TEST_SHARDS) return undefined;
          const replicas = Number(env.TEST_REPLICAS ?? 1);
          const { connection, stop } = await startCluster(Number(env.TEST_SHARDS), { replicas });
          return { at: connection, stop };
        },
      },
      {
        name: "CLICKHOUSE_URL",
        start: async () => {
          const url = env.CLICKHOUSE_URL;
          if (!url) return undefined;
          const username = env.CLICKHOUSE_USER ?? "default";
          const password = env.CLICKHOUSE_PASSWORD ?? "";
          return { at: { url, username, password, database: "default" }, stop: async () => {} };
        },
      },
      {
        name: "a container",
        start: async () => {
          if (!(await hasContainerEngine())) return undefined;
          const container = await new GenericContainer(await readImage())
            .withEnvironment({ CLICKHOUSE_USER: "tests", CLICKHOUSE_PASSWORD: "tests" })
            .withExposedPorts(8123)
            .withWaitStrategy(Wait.forHttp("/ping", 8123))
            .withStartupTimeout(CONTAINER_TIMEOUT_MS)
            .start();
          const url = `http://${container.getHost()}:${container.getMappedPort(8123)}`;
          return {
            at: { url, username: "tests", password: "tests", database: "default" },
            stop: async () => void (await container.stop()),
          };
        },
      },
      {
        name: "the embedded engine",
        start: async () => {
          const folder = await mkdtemp(join(tmpdir(), "noisefloor-clickhouse-"));
          const server = await startEmbedded(folder);
          const stop = async () => {
            await server.stop();
            await rm(folder, { recursive: true, force: true });
          };
          return { at: { ...server.connection, database: "default" }, stop };
        },
      },
    ],
    "Set CLICKHOUSE_URL, or start Docker, or run on a platform that the embedded engine supports.",
  );
}

/** The image that users of Docker Compose run. */
async function readImage(): Promise<string> {
  const [, image] =
    /^ {4}image: (clickhouse\/clickhouse-server:\S+)$/m.exec(await readFile(COMPOSE_FILE, "utf8")) ?? [];
  if (image === undefined) throw new Error("docker-compose.yml names no image of ClickHouse");
  return image;
}
