import { ensureTopics } from "@noisefloor/kafka/admin.ts";
import type { KafkaConnection } from "@noisefloor/kafka/connection.ts";
import type { Logger } from "pino";

/** The largest message that the topic takes: one of a thousand observations may have many MiB. */
const TOPIC_CONFIG = { "max.message.bytes": String(16 * 1024 * 1024) };

export type TopicOptions = {
  readonly connection: KafkaConnection;
  readonly topic: string;
  readonly partitions: number;
};

/** Creates the topic unless it exists. */
export async function createTopic({ connection, topic, partitions }: TopicOptions, log: Logger): Promise<void> {
  const created = await ensureTopics(connection, [{ name: topic, partitions, config: TOPIC_CONFIG }], log);
  if (created.length > 0) log.info({ topics: created }, "kafka topics created");
}
