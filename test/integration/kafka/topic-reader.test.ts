import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { KafkaSettings } from "@noisefloor/ingest/service.ts";
import { ensureTopics } from "@noisefloor/kafka/kafkajs-admin.ts";
import type { StreamMessage } from "@noisefloor/kafka/source.ts";
import { readTopic } from "@noisefloor/kafka/topic-reader.ts";
import { Kafka, logLevel } from "kafkajs";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openProducer, openTransactional } from "../../support/builders/odd-batches.ts";
import { freshKafka, groupsOn } from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";

let kafka: KafkaSettings;
beforeEach(async () => {
  kafka = freshKafka();
  await ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 1 }], silent);
});

/** So large that a broker sends only one or two at once. */
const large = (name: string) => ({ value: name.padEnd(700_000) });
const nameOf = ({ value }: StreamMessage) => String(value).trim();

test("when the group shares out its partitions anew in the middle, no message is handed over twice", async () => {
  const producer = await openProducer(kafka);
  const names = Array.from({ length: 8 }, (_, index) => `message ${index}`);
  for (const name of names) await producer.send({ topic: kafka.topic, messages: [large(name)] });
  const seen: string[] = [];
  let joined: Promise<void> | undefined;
  const handle = async (messages: readonly StreamMessage[]) => {
    seen.push(...messages.map(nameOf));
    if (seen.length < 3) return;
    joined ??= joinGroupOf(kafka);
    // The reader hears of the other one with a heartbeat: until then it may not be through.
    await Promise.race([joined, sleep(3_500)]);
  };
  expect(await readTopic(kafka.connection, { topic: kafka.topic, groupPrefix: kafka.groupId, handle }, silent)).toBe(
    true,
  );
  await joined;
  expect(seen).toEqual(names);
});

/** Has another member join the group of the one that reads. It gets no partition, as its name comes last. */
async function joinGroupOf({ connection, groupId: prefix, topic }: KafkaSettings): Promise<void> {
  const groupId = (await groupsOn(kafka)).find((group) => group.startsWith(prefix)) ?? "";
  const client = new Kafka({
    brokers: [...connection.brokers],
    clientId: `zzz-${randomUUID()}`,
    logLevel: logLevel.NOTHING,
  });
  const other = client.consumer({ groupId, maxWaitTimeInMs: 100 });
  onTestFinished(() => other.disconnect());
  await other.connect();
  await other.subscribe({ topic });
  const isIn = new Promise<void>((settle) => other.on(other.events.GROUP_JOIN, () => settle()));
  await other.run({ eachMessage: async () => {} });
  await isIn;
}

test("a topic that ends with what was taken back, and with what is not decided yet, is read to its end", async () => {
  const topic = kafka.topic;
  const [plain, takingBack, undecided] = [
    await openProducer(kafka),
    await openTransactional(kafka),
    await openTransactional(kafka),
  ];
  await plain.send({ topic, messages: [large("plain")] });
  const first = await takingBack.transaction();
  for (const name of ["one", "two", "three"]) await first.send({ topic, messages: [large(name)] });
  await first.abort();
  const second = await undecided.transaction();
  await second.send({ topic, messages: [large("undecided")] });
  const seen: string[] = [];
  const handle = async (messages: readonly StreamMessage[]) => void seen.push(...messages.map(nameOf));
  expect(await readTopic(kafka.connection, { topic, groupPrefix: kafka.groupId, handle }, silent)).toBe(true);
  expect(seen).toEqual(["plain"]);
  await second.abort();
});
