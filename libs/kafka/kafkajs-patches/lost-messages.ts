import { createRequire } from "node:module";

/** What we use of the library's class for a member of a group. */
type ConsumerGroup = {
  readonly groupId: string;
  readonly offsetManager: { nextOffset(topic: string, partition: number): { toString(): string } };
  readonly cluster: {
    fetchTopicsOffset(
      topics: readonly { topic: string; partitions: readonly { partition: number }[]; fromBeginning: boolean }[],
    ): Promise<readonly { readonly partitions: readonly { readonly offset: string }[] }[]>;
  };
  recoverFromOffsetOutOfRange(error: TopicPartition): Promise<void>;
};
type TopicPartition = { readonly topic: string; readonly partition: number };

/** Messages that the topic has deleted before they were read: those from an offset to the one before another. */
export type LostMessages = TopicPartition & { readonly from: bigint; readonly to: bigint };

/** By group: a process has one consumer of each. */
const listeners = new Map<string, (lost: LostMessages) => void>();

/** Calls back with messages that the consumer of a group can never read. */
export function onLostMessages(groupId: string, listener: (lost: LostMessages) => void): void {
  listeners.set(groupId, listener);
}

/**
 * Fault: when the topic's retention has deleted what a group has not read yet, kafkajs goes on with the oldest message
 * and says so in one line of its log, without how many were lost.
 * test/integration/kafka/kafka-ingest.test.ts plays it.
 */
export function patchLostMessages(): void {
  const group: { readonly prototype: ConsumerGroup } = createRequire(import.meta.url)(
    "kafkajs/src/consumer/consumerGroup.js",
  );
  const { recoverFromOffsetOutOfRange } = group.prototype;
  group.prototype.recoverFromOffsetOutOfRange = async function (this: ConsumerGroup, error: TopicPartition) {
    const { topic, partition } = error;
    const from = BigInt(this.offsetManager.nextOffset(topic, partition).toString());
    const asked = [{ topic, partitions: [{ partition }], fromBeginning: true }];
    const [oldest] = await this.cluster.fetchTopicsOffset(asked);
    const to = BigInt(oldest?.partitions[0]?.offset ?? "0");
    await recoverFromOffsetOutOfRange.call(this, error);
    // Further ahead than the topic: it was made anew.
    if (from < to) listeners.get(this.groupId)?.({ topic, partition, from, to });
  };
}
