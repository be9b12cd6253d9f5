import {
  type Admin,
  CompressionCodecs,
  CompressionTypes,
  type IHeaders,
  Kafka,
  type KafkaConfig,
  KafkaJSError,
  logLevel,
  Partitioners,
  type SASLOptions,
} from "kafkajs";
import type { Logger } from "pino";
import { DECOMPRESS, type Decompress } from "./codecs.ts";
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

// Without these a single producer that compresses with one of them would end the consumer.
CompressionCodecs[CompressionTypes.Snappy] = () => readingCodec(DECOMPRESS.Snappy);
CompressionCodecs[CompressionTypes.LZ4] = () => readingCodec(DECOMPRESS.LZ4);
CompressionCodecs[CompressionTypes.ZSTD] = () => readingCodec(DECOMPRESS.ZSTD);

function readingCodec(decompress: Decompress) {
  return {
    compress: () => Promise.reject(new Error("what we publish is not compressed")),
    decompress: async (compressed: Buffer) => {
      const { buffer, byteOffset, byteLength } = decompress(compressed);
      return Buffer.from(buffer, byteOffset, byteLength);
    },
  };
}

/** How many partitions' messages are in memory at once at most. */
const PARTITIONS_AT_ONCE = 4;
/** A consumer that neither fetched nor beat for so long does not run any more. */
const LIFE_SIGN_WITHIN_MS = 60_000;

function connectKafka(connection: KafkaConnection, log: Logger): Kafka {
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

/** Cannot be reached, or refuses what was asked of it: its message says which and why. */
export class StreamError extends Error {
  override name = "StreamError";
}

/** A consumer group member that hands over one partition's messages at a time and commits what the handler finished. */
export function kafkaSource(
  connection: KafkaConnection,
  subscription: { readonly topic: string; readonly groupId: string; readonly fromBeginning: boolean },
  log: Logger,
): StreamSource {
  const kafka = connectKafka(connection, log);
  const consumer = kafka.consumer({
    groupId: subscription.groupId,
    sessionTimeout: 30_000,
    // Both bound what is in memory at once, and are large enough for large inserts.
    maxBytesPerPartition: 8 * 1024 * 1024,
    maxBytes: 32 * 1024 * 1024,
    maxWaitTimeInMs: 500,
  });
  let fail: (error: unknown) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failure.catch(() => {});
  let lastSignOfLife = 0;
  const { events } = consumer;
  for (const event of [events.GROUP_JOIN, events.FETCH, events.HEARTBEAT, events.END_BATCH_PROCESS]) {
    consumer.on(event, () => {
      lastSignOfLife = Date.now();
    });
  }
  consumer.on(events.CRASH, ({ payload }) => {
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
        // While some wait for an insert the next ones are read and judged.
        partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
        eachBatch: async ({ batch, heartbeat, isRunning, isStale, resolveOffset, commitOffsetsIfNecessary }) => {
          const last = batch.messages.at(-1);
          if (last === undefined) return;
          const { topic, partition } = batch;
          try {
            await handle({
              messages: batch.messages.map(({ offset, key, value, headers }) => ({
                topic,
                partition,
                offset,
                key,
                value,
                headers: readHeaders(headers),
              })),
              heartbeat,
              isWanted: () => isRunning() && !isStale(),
            });
          } catch (error) {
            // The library knows its own errors, a rebalance among them. Any other one it would try a few times more and
            // then live on without a consumer: nobody knows what it is, so the process ends and replays.
            if (!(error instanceof KafkaJSError) && isRunning()) fail(error);
            throw error;
          }
          resolveOffset(last.offset);
          const offset = (BigInt(last.offset) + 1n).toString();
          // Not consumer.commitOffsets: once a stop has been asked for that one returns without having committed.
          await commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset }] }] });
        },
      });
    },
    isAlive: () => Date.now() - lastSignOfLife < LIFE_SIGN_WITHIN_MS,
    async stop() {
      await consumer.stop();
      await consumer.disconnect();
    },
  };
}

const NO_HEADERS = {};

function readHeaders(headers: IHeaders | undefined): Readonly<Record<string, string>> {
  if (headers === undefined) return NO_HEADERS;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
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
