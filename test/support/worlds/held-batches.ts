import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { kafkaConsumer } from "@noisefloor/kafka/consumer.ts";
import type { StreamBatch, TakenMessages } from "@noisefloor/kafka/port/port.ts";
import { silent } from "./http.ts";

/** A batch that is being handled, until the test ends it. */
export type HeldBatch = {
  readonly text: string;
  readonly batch: StreamBatch;
  prepare(): void;
  /** Stored, or failed. */
  end(error?: Error): void;
};

/**
 * Starts a consumer whose handler leaves it to the test when a batch is prepared and stored.
 * @param most how many messages it takes at most; prepared as soon as it has them.
 */
export async function holdBatches(kafka: KafkaSettings, most?: number) {
  const consumer = kafkaConsumer(kafka.connection, { ...kafka, fromBeginning: true }, silent);
  const handled: HeldBatch[] = [];
  const texts = () => handled.map(({ text }) => text);
  await consumer.start(
    (batch) =>
      new Promise<TakenMessages>((prepare, failToPrepare) => {
        const messages = batch.messages.slice(0, most);
        const text = messages.map(({ value }) => String(value)).join();
        let [settle, failToStore] = [() => {}, (_error: unknown) => {}];
        const stored = new Promise<void>((onStored, onFailed) => {
          [settle, failToStore] = [onStored, onFailed];
        });
        stored.catch(() => {});
        const fail = (error: unknown) => {
          failToPrepare(error);
          failToStore(error);
        };
        const one: HeldBatch = {
          text,
          batch,
          prepare: () => prepare({ taken: messages.length, stored }),
          end(error) {
            if (error !== undefined) return fail(error);
            one.prepare();
            settle();
          },
        };
        handled.push(one);
        batch.signal.addEventListener("abort", () => fail(batch.signal.reason));
        if (most !== undefined) one.prepare();
      }),
  );
  const stop = async () => {
    for (const { end } of handled) end();
    await consumer.stop();
  };
  return { consumer, handled, texts, stop };
}
