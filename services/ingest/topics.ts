import { DAY_MS } from "@noisefloor/domain/window.ts";
import { ensureTopics, readTopicConfig } from "@noisefloor/kafka/admin.ts";
import type { Logger } from "pino";
import type { KafkaSettings } from "./service.ts";

/** The largest message that topics made by us take: dead letters carry the original bytes, whatever their size. */
const TOPIC_CONFIG = { "max.message.bytes": String(16 * 1024 * 1024) };
const RETENTION = "retention.ms";

type Topics = Pick<KafkaSettings, "connection" | "topic" | "deadLetterTopic" | "partitions">;

/** Makes the topics that are missing. Letters in the dead-letter topic live as long as those of the table. */
export async function createTopics(
  { connection, topic, deadLetterTopic, partitions }: Topics,
  retentionDays: number,
  log: Logger,
): Promise<void> {
  const letters = { ...TOPIC_CONFIG, [RETENTION]: String(retentionDays * DAY_MS) };
  const made = await ensureTopics(
    connection,
    [
      { name: topic, partitions, config: TOPIC_CONFIG },
      { name: deadLetterTopic, partitions, config: letters },
    ],
    log,
  );
  if (made.length > 0) log.info({ topics: made }, "kafka topics were made");
}

/**
 * Warns when the dead-letter topic loses its letters earlier than the table does. The topic may not be ours to change,
 * nor even to ask about, which must keep nobody from starting.
 */
export async function checkDeadLetterRetention(
  { connection, deadLetterTopic: topic }: Topics,
  retentionDays: number,
  log: Logger,
): Promise<void> {
  const configured = await readTopicConfig(connection, topic, RETENTION, log).catch((error: unknown) => {
    log.debug({ err: error, topic }, "how long the dead-letter topic keeps its messages cannot be read");
  });
  const wanted = retentionDays * DAY_MS;
  // -1 means for ever.
  const kept = Number(configured ?? -1);
  if (kept < 0 || kept >= wanted) return;
  log.warn(
    { topic, [RETENTION]: kept, wanted },
    `dead letters in Kafka are deleted after ${Math.round((kept / DAY_MS) * 10) / 10} days, before the ${retentionDays} of the retention: set ${RETENTION} of the topic`,
  );
}
