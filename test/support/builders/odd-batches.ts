import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { Kafka, logLevel, Partitioners, type Producer, type ProducerConfig } from "kafkajs";
import { onTestFinished } from "vitest";

/** A producer that is disconnected when the test is over. */
export async function openProducer(kafka: KafkaSettings, config: ProducerConfig = {}): Promise<Producer> {
  const client = new Kafka({ brokers: [...kafka.connection.brokers], logLevel: logLevel.NOTHING });
  const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner, ...config });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  return producer;
}

export function openTransactional(kafka: KafkaSettings): Promise<Producer> {
  return openProducer(kafka, { idempotent: true, maxInFlightRequests: 1, transactionalId: randomUUID() });
}

type EncodeRecord = (record: { readonly offsetDelta: number }) => unknown;

/** Publishes one batch to the first partition, whose records have wrong offset deltas. */
export async function publishWithDeltas(
  kafka: KafkaSettings,
  values: readonly Buffer[],
  deltaOf: (index: number) => number,
): Promise<void> {
  const load = createRequire(import.meta.url);
  const path = load.resolve("kafkajs/src/protocol/recordBatch/record/v0/index.js");
  const encode: EncodeRecord = load(path);
  const loaded = load.cache[path];
  if (loaded === undefined) throw new Error("the client library's writer of records is not where it was");
  // Modules that have imported the writer keep it, so they are loaded again.
  const forgetRequests = () => {
    for (const key of Object.keys(load.cache)) if (/requests\/produce\/v\d+\/request/.test(key)) delete load.cache[key];
  };
  const producer = await openProducer(kafka);
  forgetRequests();
  loaded.exports = ((record) => encode({ ...record, offsetDelta: deltaOf(record.offsetDelta) })) satisfies EncodeRecord;
  try {
    await producer.send({ topic: kafka.topic, messages: values.map((value) => ({ value, partition: 0 })) });
  } finally {
    loaded.exports = encode;
    forgetRequests();
  }
}
