import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { kafkaConsumer } from "@noisefloor/kafka/consumer.ts";
import type { StreamBatch } from "@noisefloor/kafka/port.ts";
import { silent } from "./http.ts";

/** A batch that is being handled, until the test ends it. */
export type HeldBatch = { readonly text: string; readonly batch: StreamBatch; end(error?: Error): void };

/**
 * Starts a consumer whose handler leaves it to the test when a batch is prepared and stored.
 * @param recordsIn how many records each message counts for.
 */
export async function holdBatches(kafka: KafkaSettings, recordsIn = 1) {
  const options = { ...kafka, fromBeginning: true, recordsIn: () => recordsIn };
  const consumer = kafkaConsumer(kafka.connection, options, silent);
  const handled: HeldBatch[] = [];
  const texts = () => handled.map(({ text }) => text);
  await consumer.start(
    (batch) =>
      new Promise((settle, fail) => {
        const text = batch.messages.map(({ value }) => String(value)).join();
        handled.push({ text, batch, end: (error) => (error === undefined ? settle() : fail(error)) });
        batch.signal.addEventListener("abort", () => fail(batch.signal.reason));
      }),
  );
  const stop = async () => {
    for (const { end } of handled) end();
    await consumer.stop();
  };
  return { consumer, handled, texts, stop };
}
