import { chunksOf } from "@noisefloor/domain/chunks.ts";
import kafkajs, { Partitioners } from "kafkajs";
import type { Logger } from "pino";
import { connectKafka, type KafkaConnection, toStreamError } from "./kafkajs-connection.ts";
import { toStreamMessage } from "./kafkajs-message.ts";
import { makeStaticMember } from "./kafkajs-static-membership.ts";
import type { StreamProducer, StreamSource } from "./source.ts";

/** Messages beyond this are sent in several requests, each well under a broker's usual limit for a batch. */
const REQUEST_BYTES = 512 * 1024;
/**
 * What is handled and committed at once, unpacked: small enough that a process which is killed again and again still gets
 * on, and that a stop does not wait long.
 */
const BATCH_BYTES = 4 * 1024 * 1024;
/** How many partitions' messages are in memory at once at most. */
const PARTITIONS_AT_ONCE = 4;
const LONGEST_HEARTBEAT_INTERVAL_MS = 3_000;
/** A consumer that neither fetched nor beat for so long does not run any more. */
const LIFE_SIGN_WITHIN_MS = 60_000;

export type Subscription = {
  readonly topic: string;
  readonly groupId: string;
  /** After so long without a sign of life its partitions go to other members. */
  readonly sessionTimeoutMs: number;
  readonly fromBeginning: boolean;
  /** Makes it a static member under this id, which no other member of the group may have. */
  readonly instanceId?: string | undefined;
};

/** A consumer group member that hands over one partition's messages at a time and commits what the handler finished. */
export function kafkaSource(connection: KafkaConnection, subscription: Subscription, log: Logger): StreamSource {
  const { instanceId } = subscription;
  const clientId = instanceId === undefined ? connection.clientId : `${connection.clientId}-${instanceId}`;
  if (instanceId !== undefined) makeStaticMember(clientId, instanceId);
  const consumer = connectKafka({ ...connection, clientId }, log).consumer({
    groupId: subscription.groupId,
    sessionTimeout: subscription.sessionTimeoutMs,
    // Two may be lost before the group takes this consumer for dead.
    heartbeatInterval: Math.min(LONGEST_HEARTBEAT_INTERVAL_MS, Math.floor(subscription.sessionTimeoutMs / 3)),
    // Both bound what is in memory at once, and count bytes as they were compressed: JSON unpacks to ten times as many.
    maxBytesPerPartition: 1024 * 1024,
    maxBytes: 8 * 1024 * 1024,
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
      try {
        await consumer.connect();
        await consumer.subscribe({ topic: subscription.topic, fromBeginning: subscription.fromBeginning });
      } catch (error) {
        throw toStreamError(error, connection);
      }
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        // While some wait for an insert the next ones are read and judged.
        partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
        eachBatch: async ({ batch, heartbeat, isRunning, resolveOffset, commitOffsetsIfNecessary }) => {
          const { topic, partition } = batch;
          for (const messages of chunksOf(batch.messages, sizeOf, { bytes: BATCH_BYTES })) {
            const last = messages.at(-1);
            if (last === undefined || !isRunning()) return;
            try {
              await handle({
                messages: messages.map((message) => toStreamMessage(topic, partition, message)),
                heartbeat,
              });
            } catch (error) {
              // The library knows its own errors, a rebalance among them. Any other one it would try a few times more
              // and then live on without a consumer: nobody knows what it is, so the process ends and replays.
              if (!(error instanceof kafkajs.KafkaJSError) && isRunning()) fail(error);
              throw error;
            }
            const offset = (BigInt(last.offset) + 1n).toString();
            // Not consumer.commitOffsets: once a stop has been asked for that one returns without having committed.
            await commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset }] }] });
            // Only now: after a commit that failed the batch has to come again, else its offsets would stay uncommitted
            // until something else is published.
            resolveOffset(last.offset);
          }
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

/** A producer that waits for all in-sync replicas. */
export async function kafkaProducer(connection: KafkaConnection, log: Logger): Promise<StreamProducer> {
  const producer = connectKafka(connection, log).producer({
    allowAutoTopicCreation: false,
    // The default, named: the library otherwise remarks at every start that it once was another.
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect().catch((error: unknown) => {
    throw toStreamError(error, connection);
  });
  return {
    async produce(topic, messages) {
      for (const chunk of chunksOf(messages, sizeOf, { bytes: REQUEST_BYTES })) {
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

type Sized = { readonly key: Buffer | null; readonly value: Buffer | null };

/** With what a message takes besides: its header fields, and itself as an object. */
function sizeOf({ key, value }: Sized): number {
  return (value?.length ?? 0) + (key?.length ?? 0) + 512;
}
