import { assertTopicsExist } from "@noisefloor/kafka/admin.ts";
import type { KafkaConnection } from "@noisefloor/kafka/connection.ts";
import { kafkaConsumer } from "@noisefloor/kafka/consumer.ts";
import { pollConsumerLag } from "@noisefloor/kafka/consumer-lag.ts";
import type { LostMessages } from "@noisefloor/kafka/kafkajs-patches/lost-messages.ts";
import type { Produce, StreamConsumer } from "@noisefloor/kafka/port/port.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { Logger } from "pino";
import { createTopic } from "./topics.ts";

/** A topic with the records of sensors as they log them. */
export type RawTopic = { readonly topic: string; readonly format: string };

export type KafkaSettings = {
  readonly connection: KafkaConnection;
  readonly groupId: string;
  /** Makes this process a static member of the group. */
  readonly instanceId?: string | undefined;
  /** After so long without a heartbeat a process's partitions go to the others. */
  readonly sessionTimeoutMs: number;
  readonly topic: string;
  readonly rawTopics?: readonly RawTopic[];
  readonly createTopics: boolean;
  readonly partitions: number;
  /** How often the groups' lag is read; by default every ten seconds. */
  readonly lagIntervalMs?: number;
};

export type ConsumedTopic = {
  readonly source: StreamConsumer;
  /** The format of a raw topic; absent for the topic with observations. */
  readonly format?: string;
};

export type Kafka = {
  readonly produce: Produce;
  /** The topic that is published to. */
  readonly topic: string;
  readonly topics: readonly ConsumedTopic[];
  /** Rejects when a consumer has failed for good. */
  readonly failure: Promise<never>;
  /** Rejects while a consumer does not work. */
  assertAlive(): Promise<void>;
  /** How far the brokers' clock is ahead of ours, in milliseconds; undefined while they do not tell it. */
  skewMs(): number | undefined;
  stop(): Promise<void>;
};

/**
 * Connects the producer and a consumer for each topic. Raw topics have groups of their own, named after them: members
 * of one group that want different topics would share out the partitions of all.
 * @param onLag called whenever the lag was read, with how many messages of a topic have not been committed yet.
 */
export async function connectTopics(
  kafka: KafkaSettings,
  metrics: Pick<Metrics, "gaugeBy" | "kafkaRestarts" | "kafkaUnreadable">,
  log: Logger,
  onLag: (topic: string, messages: number) => void = () => {},
): Promise<Kafka> {
  const { connection, topic, groupId, instanceId, sessionTimeoutMs, rawTopics = [], lagIntervalMs } = kafka;
  const groups = [{ topic, groupId }, ...rawTopics.map((raw) => ({ ...raw, groupId: `${groupId}.${raw.topic}` }))];
  for (const { topic: name } of groups) {
    if (kafka.createTopics) await createTopic({ ...kafka, topic: name }, log);
  }
  if (!kafka.createTopics)
    await assertTopicsExist(
      connection,
      groups.map((group) => group.topic),
      log,
    );
  const producer = await kafkaProducer(connection, log);
  const topics = groups.map(({ topic: name, groupId: group, ...raw }): ConsumedTopic => {
    const onRestart = () => metrics.kafkaRestarts.inc();
    // From 0: Prometheus cannot see the increase of a counter that first appears with its first events.
    metrics.kafkaUnreadable.inc({ topic: name }, 0);
    const onLost = ({ partition, from, to }: LostMessages) => {
      metrics.kafkaUnreadable.inc({ topic: name }, Number(to - from));
      const offsets = `offsets ${from} to ${to - 1n}`;
      log.error({ topic: name, partition }, `messages were deleted from the topic before they were read: ${offsets}`);
    };
    const options = { topic: name, groupId: group, instanceId, sessionTimeoutMs, fromBeginning: true };
    return { ...raw, source: kafkaConsumer(connection, { ...options, onRestart, onLost }, log) };
  });
  const lags = groups.map((group) => ({
    ...group,
    lag: pollConsumerLag(connection, group, log, (messages) => onLag(group.topic, messages), lagIntervalMs),
  }));
  metrics.gaugeBy(
    "noisefloor_kafka_consumer_lag",
    "Messages of the topic that the consumer group has not committed yet, by partition; of raw topics as topic/partition",
    "partition",
    () =>
      lags.flatMap(({ topic: name, lag }) =>
        [...lag.current()].map(([partition, messages]): [string, number] => [
          name === topic ? partition : `${name}/${partition}`,
          messages,
        ]),
      ),
  );
  return {
    produce: producer.produce,
    topic,
    topics,
    failure: Promise.race(topics.map(({ source }) => source.failure)),
    async assertAlive() {
      if (!topics.every(({ source }) => source.isAlive())) throw new Error("no fetch or heartbeat for 60 s");
    },
    skewMs: () => lags[0]?.lag.skewMs(),
    async stop() {
      await Promise.all(topics.map(({ source }) => source.stop()));
      await Promise.all(lags.map(({ lag }) => lag.stop()));
      await producer.close();
    },
  };
}
