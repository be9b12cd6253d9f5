import { setTimeout as sleep } from "node:timers/promises";
import { chunksOf } from "@noisefloor/domain/chunks.ts";
import kafkajs, { type EachBatchPayload, type KafkaMessage, Partitioners } from "kafkajs";
import type { Logger } from "pino";
import { connectKafka, isPassing, isTooLarge, type KafkaConnection, toStreamError } from "./kafkajs-connection.ts";
import { toStreamMessage } from "./kafkajs-message.ts";
import { makeStaticMember } from "./kafkajs-static-membership.ts";
import {
  type HandleBatch,
  type ProducedMessage,
  StreamAwayError,
  type StreamProducer,
  type StreamSource,
  TooLargeError,
} from "./source.ts";

/** Messages beyond this are sent in several requests, each well under a broker's usual limit for a batch. */
const REQUEST_BYTES = 512 * 1024;
/**
 * What is handled and committed at once, unpacked: small enough that a process which is killed again and again still gets
 * on, and that a stop does not wait long.
 */
const BATCH_BYTES = 8 * 1024 * 1024;
/**
 * A record counts as so many bytes at least: millions of tiny ones take few bytes, and each is as much work as any other.
 * Hardly an observation has fewer, so that what is meant to come is not cut any smaller.
 */
const RECORD_BYTES = 128;
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
  /** About how many records a message's value holds, and no fewer; one when left out. */
  readonly recordsIn?: (value: Buffer) => number;
  /** Makes it a static member under this id, which no other member of the group may have. */
  readonly instanceId?: string | undefined;
  /** Hears of each time that the consumer begins anew after an error. */
  readonly onRestart?: () => void;
};

/** For how long the library itself tries again: so long an outage nobody hears of. */
const RETRY = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 3_000, retries: 8 };
/** How long after an error that it takes for the end the consumer runs again; twice as long each time that it ends so. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** A stop waits so long for a consumer that is just joining its group: it could not leave it otherwise. */
const JOIN_WITHIN_MS = 5_000;

/**
 * A consumer group member that hands over one partition's messages at a time and commits what the handler finished.
 * Brokers that are away it waits for, however long; only what nobody knows is a failure.
 */
export function kafkaSource(connection: KafkaConnection, subscription: Subscription, log: Logger): StreamSource {
  const { instanceId, recordsIn = () => 1, onRestart = () => {} } = subscription;
  const costOf = (message: KafkaMessage) =>
    Math.max(sizeOf(message), message.value === null ? 0 : recordsIn(message.value) * RECORD_BYTES);
  const clientId = instanceId === undefined ? connection.clientId : `${connection.clientId}-${instanceId}`;
  if (instanceId !== undefined) makeStaticMember(clientId, instanceId);
  const consumer = connectKafka({ ...connection, clientId }, log, RETRY).consumer({
    groupId: subscription.groupId,
    sessionTimeout: subscription.sessionTimeoutMs,
    // Two may be lost before the group takes this consumer for dead.
    heartbeatInterval: Math.min(LONGEST_HEARTBEAT_INTERVAL_MS, Math.floor(subscription.sessionTimeoutMs / 3)),
    // Both bound what is in memory at once, and count bytes as they were compressed: JSON unpacks to ten times as many.
    maxBytesPerPartition: 2 * 1024 * 1024,
    maxBytes: 8 * 1024 * 1024,
    maxWaitTimeInMs: 500,
    // The library would restart after some errors that pass and not after others, and also in the middle of a stop.
    retry: { ...RETRY, restartOnFailure: async () => false },
  });
  let fail: (error: unknown) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failure.catch(() => {});
  let isStopping = false;
  let lastSignOfLife = 0;
  let pause = FIRST_PAUSE_MS;
  let restart: NodeJS.Timeout | undefined;
  let joining: Promise<void> = Promise.resolve();
  const run = (handle: HandleBatch) => {
    const joined = consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      // While some wait for an insert the next ones are read and judged.
      partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
      eachBatch: async (payload) => {
        try {
          await handleBatch(payload, costOf, handle);
        } catch (error) {
          // The library knows its own errors, a rebalance among them. Any other one it would try a few times more
          // and then live on without a consumer: nobody knows what it is, so the process ends and replays.
          if (!(error instanceof kafkajs.KafkaJSError) && !isStopping) fail(error);
          throw error;
        }
      },
    });
    joining = joined.catch(() => {});
    return joined;
  };
  const { events } = consumer;
  // Not the joining of the group: one that joins it again and again brings nothing.
  for (const event of [events.FETCH, events.HEARTBEAT, events.END_BATCH_PROCESS]) {
    consumer.on(event, () => {
      lastSignOfLife = Date.now();
    });
  }
  consumer.on(events.FETCH, () => {
    pause = FIRST_PAUSE_MS;
  });
  consumer.on(events.END_BATCH_PROCESS, async ({ payload: { topic, partition, batchSize, lastOffset } }) => {
    // Marks of transactions, or what was taken back with one: they come to no handler, and would stay uncommitted.
    if (batchSize > 0) return;
    const offset = (BigInt(lastOffset) + 1n).toString();
    await consumer
      .commitOffsets([{ topic, partition, offset }])
      .catch((error: unknown) => log.debug({ err: error }, "messages that hold nothing are not committed yet"));
  });

  return {
    failure,
    async start(handle) {
      consumer.on(events.CRASH, ({ payload: { error } }) => {
        if (isStopping) return;
        if (!isPassing(error)) return fail(error);
        log.warn({ err: error, pauseMs: pause }, "kafka consumer restarts after an error");
        onRestart();
        restart = setTimeout(() => run(handle).catch(fail), pause);
        pause = Math.min(LONGEST_PAUSE_MS, 2 * pause);
      });
      try {
        await consumer.connect();
        await consumer.subscribe({ topic: subscription.topic, fromBeginning: subscription.fromBeginning });
      } catch (error) {
        throw toStreamError(error, connection);
      }
      await run(handle);
    },
    isAlive: () => Date.now() - lastSignOfLife < LIFE_SIGN_WITHIN_MS,
    async stop() {
      isStopping = true;
      clearTimeout(restart);
      await Promise.race([joining, sleep(JOIN_WITHIN_MS, undefined, { ref: false })]);
      await consumer.stop();
      await consumer.disconnect();
    },
  };
}

async function handleBatch(
  payload: EachBatchPayload,
  costOf: (message: KafkaMessage) => number,
  handle: HandleBatch,
): Promise<void> {
  const { batch, heartbeat, isRunning, resolveOffset, commitOffsetsIfNecessary } = payload;
  const { topic, partition } = batch;
  const end = batch.messages.at(-1);
  for (const messages of chunksOf(batch.messages, costOf, { bytes: BATCH_BYTES })) {
    const last = messages.at(-1);
    if (last === undefined || !isRunning()) return;
    const hasMore = last !== end || BigInt(batch.highWatermark) > BigInt(batch.lastOffset()) + 1n;
    const ours = messages.map((message) => toStreamMessage(topic, partition, message));
    await handle({ messages: ours, hasMore, heartbeat });
    // Behind the last message there may be marks of transactions, which nobody would commit.
    const offset = (BigInt(last === end ? batch.lastOffset() : last.offset) + 1n).toString();
    // Not consumer.commitOffsets: once a stop has been asked for that one returns without having committed.
    await commitOffsetsIfNecessary({ topics: [{ topic, partitions: [{ partition, offset }] }] });
    // Only now: after a commit that failed the batch has to come again, else its offsets would stay uncommitted
    // until something else is published.
    resolveOffset(last.offset);
  }
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
  const send = (topic: string, messages: readonly ProducedMessage[]) =>
    producer.send({
      topic,
      acks: -1,
      messages: messages.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } })),
    });
  const toOurs = (error: unknown) => {
    const told = toStreamError(error, connection);
    return isPassing(error) ? new StreamAwayError(told instanceof Error ? told.message : "", { cause: error }) : told;
  };
  return {
    async produce(topic, messages) {
      const tooLarge: ProducedMessage[] = [];
      let refusal: unknown;
      const sendOrPutAside = async (chunk: readonly ProducedMessage[]) => {
        try {
          await send(topic, chunk);
        } catch (error) {
          if (!isTooLarge(error)) throw toOurs(error);
          refusal = error;
          // The broker does not say which. Those that it did take are sent twice.
          if (chunk.length === 1) tooLarge.push(...chunk);
          else for (const message of chunk) await sendOrPutAside([message]);
        }
      };
      for (const chunk of chunksOf(messages, sizeOf, { bytes: REQUEST_BYTES })) await sendOrPutAside(chunk);
      if (tooLarge.length > 0) throw new TooLargeError(topic, tooLarge, { cause: refusal });
    },
    close: () => producer.disconnect(),
  };
}

type Sized = {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
};

/** What a message takes besides what is in it. */
const ENVELOPE_BYTES = 256;

function sizeOf({ key, value, headers = {} }: Sized): number {
  let size = ENVELOPE_BYTES + (value?.length ?? 0) + (key?.length ?? 0);
  for (const [name, text] of Object.entries(headers)) size += name.length + String(text ?? "").length;
  return size;
}
