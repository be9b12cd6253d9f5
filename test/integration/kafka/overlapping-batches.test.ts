import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { ensureTopics } from "@noisefloor/kafka/admin.ts";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { eventually, throughout } from "../../support/eventually.ts";
import { committedOffsets, freshKafka, producerOf } from "../../support/worlds/consuming-world.ts";
import { holdBatches } from "../../support/worlds/held-batches.ts";
import { silent } from "../../support/worlds/http.ts";

const TEXTS = ["0", "1", "2", "3"];

let kafka: KafkaSettings;
beforeEach(async () => {
  kafka = await freshKafka();
  await ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 1 }], silent);
  const producer = await producerOf(kafka);
  await producer.produce(
    kafka.topic,
    TEXTS.map((text) => ({ key: null, value: Buffer.from(text) })),
  );
  await producer.close();
});

const consume = () => holdBatches(kafka, 1);

test("a partition's next batch is handled while the one before is stored, and is committed after it", async () => {
  const { handled, texts, stop } = await consume();
  onTestFinished(stop);
  await eventually(async () => expect(texts()).toEqual(["0", "1"]));
  handled[1]?.end();
  await throughout(300, async () => expect([texts(), await committedOffsets(kafka)]).toEqual([["0", "1"], [-1]]));
  handled[0]?.end();
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([2]));
  await eventually(async () => expect(texts()).toEqual(TEXTS));
  handled[2]?.end();
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([3]));
  handled[3]?.end();
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([4]));
});

test("when a batch fails, the one after it is aborted, and both are delivered again", async () => {
  const first = await consume();
  await eventually(async () => expect(first.texts()).toEqual(["0", "1"]));
  first.handled[0]?.end(new Error("it cannot be stored"));
  await expect(first.consumer.failure).rejects.toThrow("it cannot be stored");
  expect(first.handled.map(({ batch }) => batch.signal.aborted)).toEqual([false, true]);
  await first.stop();
  expect([first.texts(), await committedOffsets(kafka)]).toEqual([["0", "1"], [-1]]);
  const second = await consume();
  onTestFinished(second.stop);
  await eventually(async () => expect(second.texts()).toEqual(["0", "1"]));
});

test("when a batch fails whose predecessor is still handled, the predecessor is committed", async () => {
  const { consumer, handled, texts, stop } = await consume();
  onTestFinished(stop);
  await eventually(async () => expect(texts()).toEqual(["0", "1"]));
  handled[1]?.end(new Error("it cannot be stored"));
  await throughout(300, async () => expect(await committedOffsets(kafka)).toEqual([-1]));
  handled[0]?.end();
  await expect(consumer.failure).rejects.toThrow("it cannot be stored");
  expect(handled[0]?.batch.signal.aborted).toBe(false);
  expect(await committedOffsets(kafka)).toEqual([1]);
});
