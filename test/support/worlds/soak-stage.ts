import { randomUUID } from "node:crypto";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { writeTags } from "@noisefloor/clickhouse/tables/tags.ts";
import { INTENTIONS } from "@noisefloor/domain/classification.ts";
import type { Tag } from "@noisefloor/domain/tag.ts";
import type { KafkaSettings } from "@noisefloor/ingest/service.ts";
import { createTopic } from "@noisefloor/ingest/sources/kafka/topics.ts";
import getPort from "get-port";
import { type EventFlow, startFlow } from "../builders/event-flow.ts";
import { type KnownEvent, type KnownMessage, makeEvents, messagesOf, PARTITIONS } from "../builders/known-events.ts";
import { type Random, seeded } from "../builders/random.ts";
import { eventually } from "../eventually.ts";
import { PUBLIC_URL } from "../oracle/address-oracle.ts";
import { requireAnswers } from "../oracle/check-answers.ts";
import { requireExactly } from "../oracle/check-stored.ts";
import { type RestartableBroker, startRestartableBroker } from "../servers/providers.ts";
import { type RestartableStore, startRestartableStore } from "../servers/restartable-store.ts";
import { type CommandLine, openCommandLine } from "./command-line.ts";
import { endOffsets, readProgress } from "./consuming-world.ts";
import { MIGRATIONS } from "./databases.ts";
import { silent } from "./http.ts";
import { environmentOf, type IngestProcess, startIngest } from "./ingest-process.ts";
import { addCaller, makeTag } from "./world.ts";

/** The servers that scenarios may kill, one after the other. */
export type SoakServers = {
  readonly store: RestartableStore;
  readonly broker: RestartableBroker;
  close(): Promise<void>;
};

/** @param startBroker starts a broker of their own, or hands out one that scenarios may not restart. */
export async function startSoakServers(startBroker = startRestartableBroker): Promise<SoakServers> {
  const store = await startRestartableStore();
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

/** Dead members keep their partitions for so long, and most of what a scenario takes is waiting for that. */
const SESSION_TIMEOUT_MS = 4_000;
/** Nothing is stored or committed for so long: ingest stands still. */
const STANDSTILL_MS = 60_000;

/** A scenario's own database, topics, group and processes. */
export type Stage = {
  readonly servers: SoakServers;
  readonly kafka: KafkaSettings;
  readonly client: ClickHouseClient;
  readonly tags: readonly Tag[];
  readonly random: Random;
  readonly events: readonly KnownEvent[];
  /** Starts one more ingest process, in another group if told so. */
  ingest(env?: Record<string, string>): Promise<IngestProcess>;
  /** Publishes some of the known events, in the background. */
  publish(events: readonly KnownEvent[]): EventFlow;
  /** So many observations were published, those that were published twice counted twice. */
  published(): number;
  /** Publishes these very messages; resolves when they are there. */
  publishRaw(messages: readonly KnownMessage[]): Promise<void>;
  /** Resolves when the group has committed everything that the topic holds; rejects when it stands still. */
  drained(groupId?: string): Promise<void>;
  /**
   * Every promise about what is stored and answered, and that no process has ended by itself.
   * @param addressesAsked with none, the query interface is not asked at all.
   */
  verify(addressesAsked?: number): Promise<void>;
  close(): Promise<void>;
};

/** @param defaultAsked of so many addresses `verify` compares every answer, unless it is told how many. */
export async function openStage(
  servers: SoakServers,
  seed: number,
  count: number,
  defaultAsked: number,
): Promise<Stage> {
  const name = randomUUID().replaceAll("-", "");
  const connection = { ...servers.store.connection, database: `soak_${name}` };
  await migrate(connection, MIGRATIONS);
  const client = connect(connection, "noisefloor-tests");
  const tags = Array.from({ length: 10 }, (_, index) =>
    makeTag(`tag-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown"),
  );
  await writeTags(client, tags, Date.now());
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
  const events = makeEvents(random, count, tags, Date.now());
  const commandLine = await openCommandLine();
  const processes: IngestProcess[] = [];
  let flows = 0;
  // Flows run side by side: with one sequence of numbers between them, none could be repeated from its seed.
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
  /** Else whatever is found wrong would be a fault of the flow. */
  const requireEachMessageOnce = async () => {
    const held = (await endOffsets(kafka)).reduce((sum, offset) => sum + offset, 0);
    if (held !== messagesPublished) throw new Error(`the topic holds ${held} messages, published ${messagesPublished}`);
  };
  const requireNoSurprise = () => {
    for (const one of processes) {
      const surprise = one.surprise();
      if (surprise !== undefined) throw new Error(surprise);
    }
  };
  return {
    servers,
    kafka,
    client,
    tags,
    random,
    events,
    async ingest(env = {}) {
      const started = await startIngest(commandLine, { ...environmentOf(connection, kafka), ...env });
      processes.push(started);
      return started;
    },
    publish(some) {
      const own = ownRandom();
      return startFlow(kafka, counted(messagesOf(some, own), true), own);
    },
    published: () => published,
    publishRaw: (messages) => startFlow(kafka, counted(messages, false), ownRandom()).done,
    async drained(groupId = kafka.groupId) {
      await untilDrained({ ...kafka, groupId }, () => processes.some((one) => one.surprise() !== undefined)).catch(
        (error: unknown) => {
          requireNoSurprise();
          throw error;
        },
      );
    },
    async verify(addressesAsked = defaultAsked) {
      requireNoSurprise();
      await requireEachMessageOnce();
      await requireExactly(client, events);
      if (addressesAsked === 0) return;
      await withQuery(commandLine, environmentOf(connection), (url) =>
        requireAnswers({ url, key }, { events, tags }, random, addressesAsked),
      );
    },
    async close() {
      await commandLine.close();
      await client.command({
        query: "DROP DATABASE {name:Identifier}",
        query_params: { name: connection.database },
      });
      await client.close();
    },
  };
}

async function untilDrained(kafka: KafkaSettings, hasSurprise: () => boolean): Promise<void> {
  let last = -1;
  let movedAt = Date.now();
  const check = async () => {
    const { ends, committed } = await readProgress(kafka);
    const sum = committed.reduce((total, offset) => total + Math.max(0, offset), 0);
    if (sum !== last) movedAt = Date.now();
    last = sum;
    const isOpen = ends.some((end, partition) => end !== Math.max(0, committed[partition] ?? 0));
    if (isOpen) throw new Error(`ingest stands still: it has committed ${committed} of ${ends}`);
  };
  await eventually(check, () => hasSurprise() || Date.now() - movedAt > STANDSTILL_MS);
}

/** Runs a query service for as long as it is asked. */
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
