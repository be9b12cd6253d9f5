import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { ensureTopics } from "@noisefloor/kafka/admin.ts";
import { type ConsumerOptions, kafkaConsumer } from "@noisefloor/kafka/consumer.ts";
import type { StreamProducer } from "@noisefloor/kafka/port/port.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { eventually, throughout } from "../../support/eventually.ts";
import { atVolume } from "../../support/volume.ts";
import { freshKafka, producerOf } from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";

/** A member of the group, the messages that it received, and the number of logged rebalances. */
async function member(kafka: KafkaSettings, instanceId: string | undefined) {
  const logged: string[] = [];
  const received: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void logged.push(line) });
  const { topic, groupId, sessionTimeoutMs } = kafka;
  const options: ConsumerOptions = { topic, groupId, sessionTimeoutMs, fromBeginning: true, instanceId };
  const consumer = kafkaConsumer(kafka.connection, options, log);
  await consumer.start(async ({ messages }) => {
    received.push(...messages.map(({ value }) => String(value)));
    return { taken: messages.length, stored: Promise.resolve() };
  });
  await eventually(async () => expect(consumer.isAlive()).toBe(true));
  return { consumer, received, rebalances: () => logged.filter((line) => line.includes("rebalancing")).length };
}

let sent = 0;
/** Publishes to both partitions and waits until the members have received every message. */
async function exchange(kafka: KafkaSettings, producer: StreamProducer, members: { received: string[] }[]) {
  const texts = Array.from({ length: 20 }, () => `message-${sent++}`);
  await producer.produce(
    kafka.topic,
    texts.map((text) => ({ key: Buffer.from(text), value: Buffer.from(text) })),
  );
  await eventually(async () => {
    const all = members.flatMap(({ received }) => received);
    expect(texts.filter((text) => !all.includes(text))).toEqual([]);
  });
}

type Case = readonly [
  promise: string,
  ids: readonly [string, string] | readonly [undefined, undefined],
  isRebalanced: boolean,
];
const CASES: readonly Case[] = [
  ["a static member that restarts causes no rebalance, and gets its partitions again", ["one", "two"], false],
  ["without ids a restart rebalances the other members", [undefined, undefined], true],
];

test.each(CASES.slice(0, atVolume(1, 2)))("%s", async (_, [firstId, secondId], isRebalanced) => {
  const kafka = await freshKafka();
  await ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 2 }], silent);
  const producer = await producerOf(kafka);
  const first = await member(kafka, firstId);
  const second = await member(kafka, secondId);
  onTestFinished(async () => {
    await second.consumer.stop();
    await producer.close();
  });
  await exchange(kafka, producer, [first, second]);
  await eventually(async () => {
    await exchange(kafka, producer, [first, second]);
    expect(second.received.length, "both have partitions").toBeGreaterThan(0);
  });
  const before = second.rebalances();

  await first.consumer.stop();
  const again = await member(kafka, firstId);
  await exchange(kafka, producer, [again, second]);
  expect(again.received.length).toBeGreaterThan(0);
  // A member learns of a rebalance with its next heartbeat, at most three seconds later.
  if (isRebalanced) await eventually(async () => expect(second.rebalances()).toBeGreaterThan(before));
  else await throughout(4_000, () => expect(second.rebalances()).toBe(before));
  await again.consumer.stop();
});
