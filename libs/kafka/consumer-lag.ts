import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { Admin } from "kafkajs";
import type { Logger } from "pino";
import { readBrokerClock } from "./broker-clock.ts";
import { connectKafka, type KafkaConnection } from "./connection.ts";
import { rememberBroker } from "./kafkajs-patches/raw-requests.ts";

/** How many messages of each partition a group has not committed yet, as of the last poll. */
export type ConsumerLag = {
  current(): Iterable<readonly [partition: string, messages: number]>;
  /** How far the brokers' clock is ahead of ours, in milliseconds; undefined while they do not tell it. */
  skewMs(): number | undefined;
  stop(): Promise<void>;
};

const LAG_INTERVAL_MS = 10_000;

/**
 * Polls the brokers for a group's lag. While they cannot be reached, `current` returns the last known lag.
 * @param onLag called after each answer with the messages of all partitions.
 */
export function pollConsumerLag(
  connection: KafkaConnection,
  group: { readonly topic: string; readonly groupId: string },
  log: Logger,
  onLag: (messages: number) => void = () => {},
  intervalMs: number = LAG_INTERVAL_MS,
): ConsumerLag {
  const clientId = `${connection.clientId}-lag`;
  rememberBroker(clientId);
  const admin: Admin = connectKafka({ ...connection, clientId }, log).admin();
  let skewMs: number | undefined;
  let lag: ReadonlyMap<string, number> = new Map();
  const poll = async () => {
    // Each time: the first connection may have failed.
    await admin.connect();
    skewMs = await readBrokerClock(clientId, Date.now).catch(() => undefined);
    lag = await readLag(admin, group);
    onLag([...lag.values()].reduce((sum, messages) => sum + messages, 0));
  };
  const onError = (error: unknown) => log.debug({ err: error }, "could not read consumer lag");
  const polls = repeatEvery(poll, { everyMs: intervalMs, onError });
  void polls.run();
  return {
    current: () => lag,
    skewMs: () => skewMs,
    async stop() {
      await polls.stop();
      await admin.disconnect();
    },
  };
}

export async function readLag(
  admin: Admin,
  { topic, groupId }: { readonly topic: string; readonly groupId: string },
): Promise<ReadonlyMap<string, number>> {
  // One after the other: until the first one has read who the brokers are, the library finds no group coordinator.
  const ends = await admin.fetchTopicOffsets(topic);
  const [committed] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const offsets = new Map(committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  return new Map(
    ends.map(({ partition, high, low }) => {
      // A group that has committed nothing starts at the oldest message.
      const from = Math.max(Number(low), offsets.get(partition) ?? 0);
      return [String(partition), Number(high) - from];
    }),
  );
}
