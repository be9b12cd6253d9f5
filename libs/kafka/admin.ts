import { retry } from "@noisefloor/domain/time/retry.ts";
import kafkajs, { type Admin } from "kafkajs";
import type { Logger } from "pino";
import { connectKafka, type KafkaConnection } from "./connection.ts";
import { toKafkaError } from "./library-errors.ts";
import { KafkaError } from "./port/errors.ts";

/** Creates the topics that do not exist; leaves the others as they are. @returns the names of those it created. */
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
    const created = missing.map((topic) => topic.name);
    await waitForLeaders(admin, created);
    return created;
  });
}

/** The library's own wait fails on a topic that some broker has not heard of yet. */
async function waitForLeaders(admin: Admin, topics: string[]): Promise<void> {
  await retry(() => admin.fetchTopicMetadata({ topics }), {
    forMs: 10_000,
    pauses: { firstMs: 100, maxMs: 200 },
    isTransient: (error) =>
      error instanceof kafkajs.KafkaJSProtocolError && error.type === "UNKNOWN_TOPIC_OR_PARTITION",
  });
}

/** @throws KafkaError when one of the topics does not exist. */
export async function assertTopicsExist(
  connection: KafkaConnection,
  names: readonly string[],
  log: Logger,
): Promise<void> {
  const existing = new Set(await withAdmin(connection, log, (admin) => admin.listTopics()));
  const missing = names.filter((name) => !existing.has(name));
  if (missing.length === 0) return;
  throw new KafkaError(
    `Kafka at ${connection.brokers.join(", ")} has no topic ${missing.join(" and no topic ")}, or none that this user ` +
      "may see: create the topic, or set KAFKA_CREATE_TOPICS to true",
  );
}

async function withAdmin<T>(connection: KafkaConnection, log: Logger, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin: Admin = connectKafka(connection, log).admin();
  try {
    await admin.connect();
    return await use(admin);
  } catch (error) {
    throw toKafkaError(error, connection);
  } finally {
    await admin.disconnect();
  }
}
