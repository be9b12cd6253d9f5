import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { ensureTopics } from "@noisefloor/kafka/admin.ts";
import { kafkaConsumer } from "@noisefloor/kafka/consumer.ts";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openProducer, openTransactional } from "../../support/builders/odd-batches.ts";
import { eventually } from "../../support/eventually.ts";
import { committedOffsets, endOffsets, freshKafka } from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";

let kafka: KafkaSettings;
beforeEach(async () => {
  kafka = await freshKafka();
});

const makeTopic = (config: Record<string, string> = {}) =>
  ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 1, config }], silent);

/** The messages that a new group receives from the topic, up to its end. */
async function readAll(): Promise<string[]> {
  const { groupId } = await freshKafka();
  const seen: string[] = [];
  const consumer = kafkaConsumer(kafka.connection, { ...kafka, groupId, fromBeginning: true }, silent);
  await consumer.start(async ({ messages }) => {
    for (const { value, damage } of messages) seen.push(damage ?? String(value?.subarray(0, 20)));
    return { taken: messages.length, stored: Promise.resolve() };
  });
  onTestFinished(() => consumer.stop());
  await eventually(async () => expect(await committedOffsets({ ...kafka, groupId })).toEqual(await endOffsets(kafka)));
  return seen;
}

test("messages of overlapping aborted transactions are not delivered, and all others are", async () => {
  await makeTopic();
  const [a, b, c] = [await openTransactional(kafka), await openTransactional(kafka), await openTransactional(kafka)];
  const message = (value: string, key: Buffer | null = null) => ({ topic: kafka.topic, messages: [{ key, value }] });
  const outer = await a.transaction();
  await outer.send(message("outer 1"));
  await outer.send(message("outer 2"));
  const inner = await b.transaction();
  await inner.send(message("inner 1"));
  await inner.abort();
  await outer.send(message("outer 3"));
  await outer.abort();
  const intZero = Buffer.alloc(4);
  const withZero = await c.transaction();
  await withZero.send(message("zero 1", intZero));
  await withZero.send(message("zero 2"));
  await withZero.abort();
  const kept = await c.transaction();
  await kept.send(message("kept 1"));
  await kept.send(message("kept 2", intZero));
  await kept.send(message("kept 3"));
  await kept.commit();
  const plain = await openProducer(kafka);
  await plain.send(message("plain", intZero));
  expect(await readAll()).toEqual(["kept 1", "kept 2", "kept 3", "plain"]);
});

test("a batch that compaction has emptied or shortened does not block the partition", async () => {
  // The smallest possible segment: two of the large messages do not fit into one.
  await makeTopic({
    "cleanup.policy": "compact",
    "segment.bytes": String(2 ** 20),
    "min.cleanable.dirty.ratio": "0.01",
  });
  const large = (key: string) => ({ key, value: key.padEnd(700_000) });
  // Compaction keeps an idempotent producer's last batch, even without a record, for its sequence number.
  const idempotent = await openProducer(kafka, { idempotent: true, maxInFlightRequests: 1 });
  const plain = await openProducer(kafka);
  const topic = kafka.topic;
  await plain.send({ topic, messages: [large("first")] });
  await idempotent.send({ topic, messages: [{ key: "a", value: "old" }] });
  await plain.send({ topic, messages: [large("second")] });
  const shortened = Array.from({ length: 200 }, (_, index) => ({
    key: index === 0 ? "kept" : "b",
    value: `old ${index}`,
  }));
  await plain.send({ topic, messages: shortened });
  await plain.send({ topic, messages: [large("third")] });
  for (const key of ["a", "b"]) await plain.send({ topic, messages: [{ key, value: `new ${key}` }] });
  await plain.send({ topic, messages: [large("fourth")] });
  const names = ["first", "second", "old 0", "third", "new a", "new b", "fourth"];
  await eventually(async () => expect((await readAll()).map((value) => value.trim())).toEqual(names), 60_000);
});
