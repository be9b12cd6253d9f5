import { randomUUID } from "node:crypto";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { connectStore, migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { createTopic } from "@noisefloor/ingest/sources/kafka/topics.ts";
import getPort from "get-port";
import { type EventFlow, startFlow } from "../builders/event-flow.ts";
import { type KnownEvent, type KnownMessage, makeEvents, messagesOf, PARTITIONS } from "../builders/known-events.ts";
import { type Random, seeded } from "../builders/random.ts";
import { eventually } from "../eventually.ts";
import { PUBLIC_URL } from "../oracle/address-oracle.ts";
import { assertAnswers } from "../oracle/check-answers.ts";
import { assertStored } from "../oracle/check-stored.ts";
import { startRestartableCluster } from "../servers/cluster.ts";
import { type RestartableBroker, startRestartableBroker } from "../servers/providers.ts";
import { type RestartableStore, startRestartableStore } from "../servers/restartable-store.ts";
import { addCaller } from "./callers.ts";
import { type CommandLine, openCommandLine } from "./command-line.ts";
import { endOffsets, readProgress } from "./consuming-world.ts";
import { dropDatabase, MIGRATIONS } from "./databases.ts";
import { silent } from "./http.ts";
import { environmentOf, type IngestProcess, startIngest } from "./ingest-process.ts";
import { makeTag } from "./world.ts";

/** The servers that scenarios may kill, one after the other. */
export type SoakServers = {
  readonly store: RestartableStore;
  readonly broker: RestartableBroker;
  close(): Promise<void>;
};

/**
 * @param startBroker starts a broker of their own, or returns one that scenarios may not restart.
 * @param size with more than one shard or replica, the store is a cluster, of which scenarios kill one server.
 */
export async function startSoakServers(
  startBroker = startRestartableBroker,
  { shards = 1, replicas = 1 }: { readonly shards?: number; readonly replicas?: number } = {},
): Promise<SoakServers> {
  const isCluster = shards > 1 || replicas > 1;
  const store = await (isCluster ? startRestartableCluster(shards, replicas) : startRestartableStore());
  try {
    const broker = await startBroker();
    const close = async () => {
      await Promise.all([broker.stop(), store.close()]);
    };
    return { store, broker, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Dead members keep their partitions for this long, and scenarios spend most of their time waiting for that. */
const SESSION_TIMEOUT_MS = 4_000;
/**
 * Half of what docker-compose.yml gives the intake. Without a limit V8 collects garbage so rarely that it could not be
 * told from a leak.
 */
const MEMORY_OPTIONS = "--max-old-space-size=512";
/** Without progress of the committed offsets for this long, ingest has stalled. */
const STANDSTILL_MS = 60_000;

/** A scenario's own database, topics, group and processes. */
export type Stage = {
  readonly servers: SoakServers;
  readonly kafka: KafkaSettings;
  readonly client: ClickHouseClient;
  readonly tags: readonly Tag[];
  readonly random: Random;
  readonly events: readonly KnownEvent[];
  /** Starts one more ingest process; `env` may put it in another group. */
  ingest(env?: Record<string, string>): Promise<IngestProcess>;
  /** Starts a query process. */
  query(env?: Record<string, string>): Promise<IngestProcess>;
  /** Publishes some of the known events, in the background. */
  publish(events: readonly KnownEvent[]): EventFlow;
  /** The number of published observations; those published twice count twice. */
  published(): number;
  /** Publishes these messages; resolves when they are acknowledged. */
  publishRaw(messages: readonly KnownMessage[]): Promise<void>;
  /** Resolves when the group has committed the whole topic; rejects when it stalls. */
  drained(groupId?: string): Promise<void>;
  /**
   * Checks all stored rows and answers, and that no process has ended by itself.
   * @param addressesAsked with 0 only the rows are checked.
   */
  verify(addressesAsked?: number): Promise<void>;
  close(): Promise<void>;
};

/** What a scenario has to store and to compare. */
export type StageOptions = {
  readonly seed: number;
  readonly events: number;
  /** The events' ages. Each month is a partition, in which an insert makes parts of its own. */
  readonly days: number;
  /** For how many addresses `verify` compares every answer, by default. */
  readonly addressesAsked: number;
};

export async function openStage(servers: SoakServers, options: StageOptions): Promise<Stage> {
  const { seed, days, addressesAsked: defaultAsked } = options;
  const name = randomUUID().replaceAll("-", "");
  const connection = { ...servers.store.connection, database: `soak_${name}` };
  await migrateStore(connection, MIGRATIONS);
  const client = connectStore(connection, "noisefloor-tests");
  const tags = Array.from({ length: 10 }, (_, index) =>
    makeTag(`tag-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown"),
  );
  await tagRecords.write(client, tags, Date.now());
  const key = await addCaller(client, "soak", "unlimited", ["community_dataset"]);
  const kafka: KafkaSettings = {
    connection: { brokers: servers.broker.address.split(","), clientId: "noisefloor-soak", tls: false },
    groupId: `group-${name}`,
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    topic: `observations-${name}`,
    createTopics: true,
    partitions: PARTITIONS,
  };
  await createTopic(kafka, silent);
  const random = seeded(seed);
  const events = makeEvents(random, { count: options.events, tags, days }, Date.now());
  const commandLine = await openCommandLine();
  const processes: IngestProcess[] = [];
  let flows = 0;
  // Flows run concurrently: sharing one random sequence, none could be repeated from its seed.
  const ownRandom = () => seeded(seed + ++flows);
  let published = 0;
  let messagesPublished = 0;
  function* counted(messages: Iterable<KnownMessage>, areKnown: boolean): Generator<KnownMessage> {
    for (const message of messages) {
      messagesPublished++;
      if (areKnown) published += message.records;
      yield message;
    }
  }
  /** A message that was published twice would look like a fault of ingest. */
  const assertEachMessageOnce = async () => {
    const held = (await endOffsets(kafka)).reduce((sum, offset) => sum + offset, 0);
    if (held !== messagesPublished) throw new Error(`the topic holds ${held} messages, published ${messagesPublished}`);
  };
  const assertNoUnexpectedExit = () => {
    for (const one of processes) {
      const unexpectedExit = one.unexpectedExit();
      if (unexpectedExit !== undefined) throw new Error(unexpectedExit);
    }
  };
  const start = async (command: "ingest" | "query", env: Record<string, string>) => {
    const started = await startIngest(commandLine, { NODE_OPTIONS: MEMORY_OPTIONS, ...env }, command);
    processes.push(started);
    return started;
  };
  return {
    servers,
    kafka,
    client,
    tags,
    random,
    events,
    ingest: (env = {}) => start("ingest", { ...environmentOf(connection, kafka), ...env }),
    query: (env = {}) => start("query", { ...environmentOf(connection), ...env }),
    publish(some) {
      const own = ownRandom();
      return startFlow(kafka, counted(messagesOf(some, own), true), own);
    },
    published: () => published,
    publishRaw: (messages) => startFlow(kafka, counted(messages, false), ownRandom()).done,
    async drained(groupId = kafka.groupId) {
      await untilDrained({ ...kafka, groupId }, () =>
        processes.some((one) => one.unexpectedExit() !== undefined),
      ).catch((error: unknown) => {
        assertNoUnexpectedExit();
        throw error;
      });
    },
    async verify(addressesAsked = defaultAsked) {
      assertNoUnexpectedExit();
      await assertEachMessageOnce();
      await assertStored(client, events);
      if (addressesAsked === 0) return;
      await withQuery(commandLine, environmentOf(connection), (url) =>
        assertAnswers({ url, key }, { events, tags }, random, addressesAsked),
      );
    },
    async close() {
      await commandLine.close();
      await dropDatabase(client, connection.database);
      await client.close();
    },
  };
}

async function untilDrained(kafka: KafkaSettings, hasFailed: () => boolean): Promise<void> {
  let last = -1;
  let movedAt = Date.now();
  const check = async () => {
    const { ends, committed } = await readProgress(kafka);
    const sum = committed.reduce((total, offset) => total + Math.max(0, offset), 0);
    if (sum !== last) movedAt = Date.now();
    last = sum;
    const isOpen = ends.some((end, partition) => end !== Math.max(0, committed[partition] ?? 0));
    if (isOpen) throw new Error(`ingest has stalled: it has committed ${committed} of ${ends}`);
  };
  await eventually(check, () => hasFailed() || Date.now() - movedAt > STANDSTILL_MS);
}

/** Runs a query service during `ask`. */
async function withQuery(
  commandLine: CommandLine,
  env: Record<string, string>,
  ask: (url: string) => Promise<void>,
): Promise<void> {
  const port = await getPort({ host: "127.0.0.1" });
  const { child, finished } = commandLine.run(["query"], {
    ...env,
    LOG_LEVEL: "warn",
    HTTP_PORT: String(port),
    PUBLIC_URL,
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await eventually(async () => {
      const { status } = await fetch(`${url}/readyz`);
      if (status !== 200) throw new Error(`the query service is not ready: ${status}`);
    });
    await ask(url);
  } finally {
    child.kill("SIGTERM");
    await finished;
  }
}
