import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { ensureTopics } from "@noisefloor/kafka/admin.ts";
import { readKafkaState } from "@noisefloor/kafka/group-state.ts";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { endOffsets, freshKafka, producerOf } from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";

test("status reads the lag of each topic, and says which one is missing", async () => {
  const kafka = await freshKafka();
  const { connection, topic, groupId } = kafka;
  await ensureTopics(connection, [{ name: topic, partitions: 2 }], silent);
  const producer = await producerOf(kafka);
  onTestFinished(producer.close);
  const messages = Array.from({ length: 5 }, (_, index) => ({
    key: Buffer.from(`${index}`),
    value: Buffer.from("{}"),
  }));
  await producer.produce(topic, messages);
  // A request that a busy broker answers late is sent again, so that the topic may hold a message twice.
  const stored = (await endOffsets(kafka)).reduce((sum, end) => sum + end, 0);
  expect(stored).toBeGreaterThanOrEqual(messages.length);
  const missing = { topic: `${topic}-missing`, groupId };
  // A broker that has never had a group makes the topic of their offsets first.
  await eventually(async () => {
    const { groups } = await readKafkaState(connection, [{ topic, groupId }, missing], silent);
    expect(groups).toEqual([
      { topic, groupId, lag: { messages: stored } },
      { ...missing, lag: { error: expect.objectContaining({ message: expect.stringContaining("not host") }) } },
    ]);
  });
});

test("status compares the brokers' clock with this machine's", async () => {
  const { connection } = await freshKafka();
  const skewOf = async (now: () => number) => (await readKafkaState(connection, [], silent, now)).skewMs ?? Number.NaN;
  expect(Math.abs(await skewOf(Date.now))).toBeLessThan(HOUR_MS / 60);
  const slow = await skewOf(() => Date.now() - HOUR_MS);
  expect(Math.abs(slow - HOUR_MS), "this machine an hour behind").toBeLessThan(HOUR_MS / 60);
});
