import { setTimeout as sleep } from "node:timers/promises";
import type { KafkaSettings } from "@noisefloor/ingest/service.ts";
import { kafkaSource, type Subscription } from "@noisefloor/kafka/kafkajs.ts";
import { ensureTopics } from "@noisefloor/kafka/kafkajs-admin.ts";
import type { StreamProducer } from "@noisefloor/kafka/source.ts";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { freshKafka, producerOf } from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";

/** A member of the group, what it has received, and what the client library said meanwhile. */
async function member(kafka: KafkaSettings, instanceId: string | undefined) {
  const said: string[] = [];
  const received: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void said.push(line) });
  const { topic, groupId, sessionTimeoutMs } = kafka;
  const subscription: Subscription = { topic, groupId, sessionTimeoutMs, fromBeginning: true, instanceId };
  const source = kafkaSource(kafka.connection, subscription, log);
  await source.start(async ({ messages }) => {
    received.push(...messages.map(({ value }) => String(value)));
  });
  await eventually(async () => expect(source.isAlive()).toBe(true));
  return { source, received, rebalances: () => said.filter((line) => line.includes("rebalancing")).length };
}

let sent = 0;
/** Sends to both partitions until both have come to somebody. */
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

test.each([
  ["a static member that restarts stops nobody else, and has its partitions as before", ["one", "two"] as const, false],
  ["without ids a restart lets the others share the partitions out anew", [undefined, undefined] as const, true],
])("%s", async (_, [firstId, secondId], isRebalanced) => {
  const kafka = freshKafka();
  await ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 2 }], silent);
  const producer = await producerOf(kafka);
  const first = await member(kafka, firstId);
  const second = await member(kafka, secondId);
  onTestFinished(async () => {
    await second.source.stop();
    await producer.close();
  });
  await exchange(kafka, producer, [first, second]);
  await eventually(async () => {
    await exchange(kafka, producer, [first, second]);
    expect(second.received.length, "both have partitions").toBeGreaterThan(0);
  });
  const before = second.rebalances();

  await first.source.stop();
  const again = await member(kafka, firstId);
  await exchange(kafka, producer, [again, second]);
  expect(again.received.length).toBeGreaterThan(0);
  // A rebalance is heard of with the next heartbeat, three seconds later at most.
  if (isRebalanced) await eventually(async () => expect(second.rebalances()).toBeGreaterThan(before));
  else {
    await sleep(4_000);
    expect(second.rebalances()).toBe(before);
  }
  await again.source.stop();
});
