import { type Admin, Kafka, type KafkaConfig, logLevel, Partitioners, type SASLOptions } from "kafkajs";
import type { Logger } from "pino";
import type { ProducedMessage, StreamProducer, StreamSource } from "./source.ts";

/** How to reach the brokers. */
export type KafkaConnection = {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly tls: boolean;
  readonly sasl?:
    | {
        readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
        readonly username: string;
        readonly password: string;
      }
    | undefined;
};

/** Messages beyond this are sent in several requests, each well under a broker's usual limit for a batch. */
const REQUEST_BYTES = 512 * 1024;

/** For the files of this room; the others know streams and topics only. */
export function connectKafka(connection: KafkaConnection, log: Logger): Kafka {
  const config: KafkaConfig = {
    clientId: connection.clientId,
    brokers: [...connection.brokers],
    ssl: connection.tls,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => {
      const { message, timestamp: _timestamp, logger: _logger, ...fields } = entry.log;
      if (entry.level <= logLevel.ERROR) log.error(fields, `kafka: ${message}`);
      else log.warn(fields, `kafka: ${message}`);
    },
  };
  if (connection.sasl !== undefined) config.sasl = saslOptions(connection.sasl);
  return new Kafka(config);
}

function saslOptions(sasl: NonNullable<KafkaConnection["sasl"]>): SASLOptions {
  const { mechanism, username, password } = sasl;
  // One literal mechanism a branch: the library's type is a union over them.
  if (mechanism === "plain") return { mechanism, username, password };
  if (mechanism === "scram-sha-256") return { mechanism, username, password };
  return { mechanism, username, password };
}

/** Makes topics that do not exist yet; leaves those that do as they are. @returns the names of those it made. */
export async function ensureTopics(
  connection: KafkaConnection,
  topics: readonly { readonly name: string; readonly partitions: number; readonly config?: Record<string, string> }[],
  log: Logger,
): Promise<string[]> {
  const admin: Admin = connectKafka(connection, log).admin();
  await admin.connect();
  try {
    const existing = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !existing.has(topic.name));
    if (missing.length === 0) return [];
    await admin.createTopics({
      waitForLeaders: true,
      topics: missing.map(({ name, partitions, config = {} }) => ({
        topic: name,
        numPartitions: partitions,
        configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
      })),
    });
    return missing.map((topic) => topic.name);
  } finally {
    await admin.disconnect();
  }
}

/** A consumer group member that hands over one partition's messages at a time and commits what the handler finished. */
export function kafkaSource(
  connection: KafkaConnection,
  subscription: { readonly topic: string; readonly groupId: string; readonly fromBeginning: boolean },
  log: Logger,
): StreamSource {
  const consumer = connectKafka(connection, log).consumer({
    groupId: subscription.groupId,
    sessionTimeout: 30_000,
    maxBytesPerPartition: 8 * 1024 * 1024,
    maxBytes: 32 * 1024 * 1024,
    maxWaitTimeInMs: 500,
  });
  let fail: (error: Error) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failure.catch(() => {});
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    // The library restarts by itself after errors it knows; after others it stops for good and the process would live
    // on without a consumer.
    if (!payload.restart) fail(payload.error);
    else log.warn({ err: payload.error }, "kafka consumer restarts after an error");
  });

  return {
    failure,
    async start(handle) {
      await consumer.connect();
      await consumer.subscribe({ topic: subscription.topic, fromBeginning: subscription.fromBeginning });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async ({ batch, heartbeat, isRunning, isStale, resolveOffset, commitOffsetsIfNecessary }) => {
          const last = batch.messages.at(-1);
          if (last === undefined) return;
          const { topic, partition } = batch;
          await handle({
            messages: batch.messages.map(({ offset, key, value }) => ({ topic, partition, offset, key, value })),
            heartbeat,
            isWanted: () => isRunning() && !isStale(),
          });
          resolveOffset(last.offset);
          const offset = (BigInt(last.offset) + 1n).toString();
          // Not consumer.commitOffsets: once a stop has been asked for that one returns without having committed.
          await commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset }] }] });
        },
      });
    },
    async stop() {
      await consumer.stop();
      await consumer.disconnect();
    },
  };
}

/** A producer that waits for all in-sync replicas. */
export async function kafkaProducer(connection: KafkaConnection, log: Logger): Promise<StreamProducer> {
  const producer = connectKafka(connection, log).producer({
    allowAutoTopicCreation: false,
    // The default, named: the library otherwise remarks at every start that it once was another.
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  return {
    async produce(topic, messages) {
      for (const chunk of chunkBySize(messages)) {
        await producer.send({
          topic,
          acks: -1,
          messages: chunk.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } })),
        });
      }
    },
    close: () => producer.disconnect(),
  };
}

function* chunkBySize(messages: readonly ProducedMessage[]): Generator<ProducedMessage[]> {
  let chunk: ProducedMessage[] = [];
  let bytes = 0;
  for (const message of messages) {
    const size = (message.value?.length ?? 0) + (message.key?.length ?? 0) + 512;
    if (chunk.length > 0 && bytes + size > REQUEST_BYTES) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(message);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}
