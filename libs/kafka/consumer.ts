import { setTimeout as sleep } from "node:timers/promises";
import kafkajs, { type Consumer } from "kafkajs";
import type { Logger } from "pino";
import { connectKafka, type KafkaConnection } from "./connection.ts";
import { createDeliveries, type Deliveries, type TopicOffset } from "./deliveries.ts";
import { type LostMessages, onLostMessages } from "./kafkajs-patches/lost-messages.ts";
import { useStaticMembership } from "./kafkajs-patches/static-membership.ts";
import { isLostMembership, isTransient, toKafkaError } from "./library-errors.ts";
import type { StreamConsumer } from "./port/port.ts";

/** How much of a partition one fetch brings: enough for two large inserts. */
const FETCH_BYTES = 16 * 1024 * 1024;
/**
 * How many partitions' messages are in memory at any moment, besides those that are prepared and wait for the store: at
 * most one batch of a partition.
 */
const CONCURRENT_PARTITIONS = 4;
const MAX_HEARTBEAT_INTERVAL_MS = 3_000;
/** After so long without a fetch, a heartbeat or a finished batch the consumer counts as dead. */
const LIVENESS_TIMEOUT_MS = 60_000;

export type ConsumerOptions = {
  readonly topic: string;
  readonly groupId: string;
  /** After so long without a heartbeat the broker gives its partitions to other members. */
  readonly sessionTimeoutMs: number;
  readonly fromBeginning: boolean;
  /** Makes it a static member with this id, which no other member of the group may have. */
  readonly instanceId?: string | undefined;
  /** Called each time that the consumer restarts after an error. */
  readonly onRestart?: () => void;
  /** Called with messages that the topic has deleted before they were read. */
  readonly onLost?: (lost: LostMessages) => void;
};

/** The library's own retries: it reports nothing of an outage that is shorter than these take. */
const RETRY = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 3_000, retries: 8 };
/** The backoff between restarts, once the library's own retries have run out. */
const MIN_RESTART_DELAY_MS = 1_000;
const MAX_RESTART_DELAY_MS = 30_000;
/** A consumer cannot leave a group while it joins it, so a stop waits for that, but no longer than this. */
const JOIN_TIMEOUT_MS = 5_000;

/**
 * A group member that handles a partition's messages in order, two batches side by side, and commits in the same order
 * what the handler finished.
 * It restarts after errors that unreachable brokers cause, however long they are away; any other error is a failure.
 */
export function kafkaConsumer(connection: KafkaConnection, options: ConsumerOptions, log: Logger): StreamConsumer {
  const consumer = createConsumer(connection, options, log);
  if (options.onLost !== undefined) onLostMessages(options.groupId, options.onLost);
  const isAlive = trackLiveness(consumer);
  const restartDelay = restartBackoff(consumer);
  const shutdown = new AbortController();
  const { failure, fail } = createFailure();
  const failUnlessStopping = (error: unknown) => {
    if (!shutdown.signal.aborted) fail(error);
  };
  const onLateFailure = (error: unknown, from: TopicOffset) => {
    if (!(error instanceof kafkajs.KafkaJSError)) return failUnlessStopping(error);
    log.debug({ err: error, ...from }, "a batch was not committed, it is fetched again");
    // A member that must join its group again fetches from the committed offsets then.
    if (isLostMembership(error)) return;
    try {
      consumer.seek(from);
    } catch (seekError) {
      // Between a crash and its restart, after which it joins again, too.
      log.debug({ err: seekError }, "the consumer is not in its group now");
    }
  };
  let joining: Promise<void> = Promise.resolve();
  const run = (deliveries: Deliveries) => {
    const joined = consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      // While some batches wait for their insert, the next ones are fetched and validated.
      partitionsConsumedConcurrently: CONCURRENT_PARTITIONS,
      eachBatch: async (payload) => {
        try {
          await deliveries.deliver(payload);
        } catch (error) {
          // The library handles its own errors, a rebalance among them. It would retry any other one a few times and
          // then live on without consuming: the process must end instead, and replay.
          if (!(error instanceof kafkajs.KafkaJSError)) failUnlessStopping(error);
          throw error;
        }
      },
    });
    joining = joined.catch(() => {});
    return joined;
  };
  const restart = async (error: Error, deliveries: Deliveries) => {
    if (shutdown.signal.aborted) return;
    if (!isTransient(error)) throw error;
    const delayMs = restartDelay();
    log.warn({ err: error, delayMs }, "kafka consumer failed, restarting");
    options.onRestart?.();
    await sleep(delayMs, undefined, { signal: shutdown.signal });
    await run(deliveries);
  };
  let deliveries: Deliveries | undefined;

  return {
    failure,
    isAlive,
    async start(handle) {
      const started = createDeliveries({ handle, onLateFailure });
      deliveries = started;
      consumer.on(consumer.events.GROUP_JOIN, started.rejoined);
      consumer.on(consumer.events.CRASH, ({ payload }) => restart(payload.error, started).catch(failUnlessStopping));
      commitEmptyBatches(consumer, started, log);
      try {
        await consumer.connect();
        await consumer.subscribe({ topic: options.topic, fromBeginning: options.fromBeginning });
      } catch (error) {
        throw toKafkaError(error, connection);
      }
      await run(started);
    },
    async stop() {
      shutdown.abort();
      await Promise.race([joining, sleep(JOIN_TIMEOUT_MS, undefined, { ref: false })]);
      await deliveries?.stop();
      await consumer.stop();
      await consumer.disconnect();
    },
  };
}

function createConsumer(connection: KafkaConnection, options: ConsumerOptions, log: Logger): Consumer {
  const { groupId, instanceId, sessionTimeoutMs } = options;
  const clientId = instanceId === undefined ? connection.clientId : `${connection.clientId}-${instanceId}`;
  if (instanceId !== undefined) useStaticMembership(clientId, instanceId);
  return connectKafka({ ...connection, clientId }, log, RETRY).consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    // Two heartbeats may be lost before the broker takes this consumer for dead.
    heartbeatInterval: Math.min(MAX_HEARTBEAT_INTERVAL_MS, Math.floor(sessionTimeoutMs / 3)),
    // The library fetches again only when all of a response is prepared: small ones would make small, costly inserts.
    // These count compressed bytes; RESPONSE_MEMORY bounds what they decompress to.
    maxBytesPerPartition: FETCH_BYTES,
    maxBytes: CONCURRENT_PARTITIONS * FETCH_BYTES,
    maxWaitTimeInMs: 500,
    // The library restarts after some transient errors and not after others, and also during a stop. We restart
    // instead.
    retry: { ...RETRY, restartOnFailure: async () => false },
  });
}

function createFailure() {
  let fail: (error: unknown) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failure.catch(() => {});
  return { failure, fail };
}

/** Joining the group does not count: a member that joins again and again fetches nothing. */
function trackLiveness(consumer: Consumer): () => boolean {
  let lastActivity = 0;
  const { FETCH, HEARTBEAT, END_BATCH_PROCESS } = consumer.events;
  for (const event of [FETCH, HEARTBEAT, END_BATCH_PROCESS]) {
    consumer.on(event, () => {
      lastActivity = Date.now();
    });
  }
  return () => Date.now() - lastActivity < LIVENESS_TIMEOUT_MS;
}

/** How long to wait before the next restart: twice as long each time, until a fetch succeeds. */
function restartBackoff(consumer: Consumer): () => number {
  let nextMs = MIN_RESTART_DELAY_MS;
  consumer.on(consumer.events.FETCH, () => {
    nextMs = MIN_RESTART_DELAY_MS;
  });
  return () => {
    const delayMs = nextMs;
    nextMs = Math.min(MAX_RESTART_DELAY_MS, 2 * delayMs);
    return delayMs;
  };
}

/** The library calls no handler for control batches and aborted transactions, so we commit past them here. */
function commitEmptyBatches(consumer: Consumer, deliveries: Deliveries, log: Logger): void {
  consumer.on(consumer.events.END_BATCH_PROCESS, async ({ payload: { topic, partition, batchSize, lastOffset } }) => {
    if (batchSize > 0) return;
    const offset = (BigInt(lastOffset) + 1n).toString();
    await deliveries
      .committed(partition)
      .then(() => consumer.commitOffsets([{ topic, partition, offset }]))
      .catch((error: unknown) => log.debug({ err: error }, "could not commit past a control batch"));
  });
}
