import { setTimeout as sleep } from "node:timers/promises";
import kafkajs, { type Admin } from "kafkajs";
import type { Logger } from "pino";
import { connectKafka, type KafkaConnection, StreamError, toStreamError } from "./kafkajs-connection.ts";

/** Makes topics that do not exist yet; leaves those that do as they are. @returns the names of those it made. */
export async function ensureTopics(
  connection: KafkaConnection,
  topics: readonly { readonly name: string; readonly partitions: number; readonly config?: Record<string, string> }[],
  log: Logger,
): Promise<string[]> {
  return withAdmin(connection, log, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !existing.has(topic.name));
    if (missing.length === 0) return [];
    await admin.createTopics({
      waitForLeaders: false,
      topics: missing.map(({ name, partitions, config = {} }) => ({
        topic: name,
        numPartitions: partitions,
        configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
      })),
    });
    const made = missing.map((topic) => topic.name);
    await waitForLeaders(admin, made);
    return made;
  });
}

const LEADERS_WITHIN_MS = 10_000;

/** The library's own wait takes a topic that not every broker has heard of yet for one that does not exist. */
async function waitForLeaders(admin: Admin, topics: string[]): Promise<void> {
  const deadline = Date.now() + LEADERS_WITHIN_MS;
  for (;;) {
    try {
      await admin.fetchTopicMetadata({ topics });
      return;
    } catch (error) {
      const isUnheardOf = error instanceof kafkajs.KafkaJSProtocolError && error.type === "UNKNOWN_TOPIC_OR_PARTITION";
      if (!isUnheardOf || Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

/** @throws StreamError when there is none of one of these names. */
export async function requireTopics(connection: KafkaConnection, names: readonly string[], log: Logger): Promise<void> {
  const existing = new Set(await withAdmin(connection, log, (admin) => admin.listTopics()));
  const missing = names.filter((name) => !existing.has(name));
  if (missing.length === 0) return;
  throw new StreamError(
    `Kafka at ${connection.brokers.join(", ")} has no topic ${missing.join(" and no topic ")}, or none that this user ` +
      "may see: make what is missing, or set KAFKA_CREATE_TOPICS to true",
  );
}

async function withAdmin<T>(connection: KafkaConnection, log: Logger, ask: (admin: Admin) => Promise<T>): Promise<T> {
  const admin: Admin = connectKafka(connection, log).admin();
  try {
    await admin.connect();
    return await ask(admin);
  } catch (error) {
    throw toStreamError(error, connection);
  } finally {
    await admin.disconnect();
  }
}

/** What a topic is configured to, or its broker where the topic says nothing; undefined when it has no such setting. */
export async function readTopicConfig(
  connection: KafkaConnection,
  topic: string,
  name: string,
  log: Logger,
): Promise<string | undefined> {
  return withAdmin(connection, log, async (admin) => {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [name] }],
    });
    return resources[0]?.configEntries.find(({ configName }) => configName === name)?.configValue;
  });
}

/** How many messages of each partition a group has not committed yet, as it was known a moment ago. */
export type GroupLag = {
  current(): Iterable<readonly [partition: string, messages: number]>;
  stop(): Promise<void>;
};

const LAG_INTERVAL_MS = 10_000;

/** Asks the brokers again and again. While they are away the last known figures stand. */
export function watchLag(
  connection: KafkaConnection,
  { topic, groupId }: { readonly topic: string; readonly groupId: string },
  log: Logger,
): GroupLag {
  const admin: Admin = connectKafka(connection, log).admin();
  let lag = new Map<string, number>();
  const look = async () => {
    // Each time: a first connection that failed must not be the last word on it.
    await admin.connect();
    const [ends, [committed]] = await Promise.all([
      admin.fetchTopicOffsets(topic),
      admin.fetchOffsets({ groupId, topics: [topic] }),
    ]);
    const offsets = new Map(committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
    lag = new Map(
      ends.map(({ partition, high, low }) => {
        // A group that has committed nothing begins with the oldest message.
        const from = Math.max(Number(low), offsets.get(partition) ?? 0);
        return [String(partition), Number(high) - from];
      }),
    );
  };
  const tell = (error: unknown) => log.debug({ err: error }, "the lag of the consumer group cannot be read");
  let underWay = look().catch(tell);
  const timer = setInterval(() => {
    underWay = underWay.then(look).catch(tell);
  }, LAG_INTERVAL_MS);
  timer.unref();
  return {
    current: () => lag,
    async stop() {
      clearInterval(timer);
      await underWay;
      await admin.disconnect();
    },
  };
}
