import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { ensureTopics } from "@noisefloor/kafka/admin.ts";
import kafkajs, { type Transaction } from "kafkajs";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openProducer, openTransactional } from "../../support/builders/odd-batches.ts";
import { eventually, throughout } from "../../support/eventually.ts";
import { committedOffsets, freshKafka } from "../../support/worlds/consuming-world.ts";
import { type HeldBatch, holdBatches } from "../../support/worlds/held-batches.ts";
import { silent } from "../../support/worlds/http.ts";

let kafka: KafkaSettings;
/** Holds the second message: the broker says that more follows the first, and keeps it back until this ends. */
let transaction: Transaction;
beforeEach(async () => {
  kafka = await freshKafka();
  await ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 1 }], silent);
  const producer = await openProducer(kafka);
  await producer.send({ topic: kafka.topic, messages: [{ value: "first" }] });
  transaction = await (await openTransactional(kafka)).transaction();
  await transaction.send({ topic: kafka.topic, messages: [{ value: "second" }] });
});

/** A consumer that has prepared the first message, and counts it as handled. */
async function prepareFirst() {
  const held = await holdBatches(kafka);
  onTestFinished(held.stop);
  await eventually(async () => expect(held.texts()).toEqual(["first"]));
  const first = at(held.handled, 0);
  first.prepare();
  return { ...held, first };
}

function at(handled: readonly HeldBatch[], index: number): HeldBatch {
  const one = handled[index];
  if (one === undefined) throw new Error(`no batch ${index}`);
  return one;
}

/** An error that the library retries, as a commit's when the broker does not answer. */
const lostConnection = () => new kafkajs.KafkaJSConnectionError("the connection is lost");

test("what follows a prepared batch is fetched while it is stored, and committed after it", async () => {
  const { first, handled, texts } = await prepareFirst();
  await transaction.commit();
  await eventually(async () => expect(texts()).toEqual(["first", "second"]));
  at(handled, 1).end();
  await throughout(300, async () => expect(await committedOffsets(kafka)).toEqual([-1]));
  first.end();
  // A control record ends the transaction.
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([3]));
});

test("what follows a batch that is not prepared yet is not fetched", async () => {
  const { handled, texts, stop } = await holdBatches(kafka);
  onTestFinished(stop);
  await eventually(async () => expect(texts()).toEqual(["first"]));
  await transaction.commit();
  await throughout(800, () => expect(texts()).toEqual(["first"]));
  at(handled, 0).end();
  await eventually(async () => expect(texts()).toEqual(["first", "second"]));
});

test("a prepared batch that cannot be stored is a failure of the consumer, and is delivered again by the next", async () => {
  const { consumer, first, stop } = await prepareFirst();
  first.end(new Error("it cannot be stored"));
  await expect(consumer.failure).rejects.toThrow("it cannot be stored");
  await stop();
  expect(await committedOffsets(kafka)).toEqual([-1]);
  const next = await holdBatches(kafka);
  onTestFinished(next.stop);
  await eventually(async () => expect(next.texts()).toEqual(["first"]));
});

test("after an error that a retry may clear, a prepared batch is fetched again, though nothing follows it", async () => {
  const { first, handled, texts } = await prepareFirst();
  first.end(lostConnection());
  await eventually(async () => expect(texts()).toEqual(["first", "first"]));
  at(handled, 1).end();
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([1]));
});

test("what follows such a batch is aborted, and both are fetched again in order", async () => {
  const { first, handled, texts } = await prepareFirst();
  await transaction.commit();
  await eventually(async () => expect(texts()).toEqual(["first", "second"]));
  first.end(lostConnection());
  await eventually(async () => expect(texts()).toEqual(["first", "second", "first,second"]));
  expect(at(handled, 1).batch.signal.aborted).toBe(true);
  expect(await committedOffsets(kafka)).toEqual([-1]);
  at(handled, 2).end();
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([3]));
});

test("nothing is committed past a prepared batch that is not stored, not even past records without messages", async () => {
  const { first, handled, texts } = await prepareFirst();
  await transaction.abort();
  // Meanwhile the library skips what the transaction has left.
  await throughout(800, async () => expect(await committedOffsets(kafka)).toEqual([-1]));
  first.end(lostConnection());
  await eventually(async () => expect(texts()).toEqual(["first", "first"]));
  at(handled, 1).end();
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([3]));
});

test("a stop waits until a prepared batch is stored and committed", async () => {
  const { consumer, first } = await prepareFirst();
  let isStopped = false;
  const stopped = consumer.stop().then(() => {
    isStopped = true;
  });
  await throughout(300, () => expect(isStopped).toBe(false));
  first.end();
  await stopped;
  expect(await committedOffsets(kafka)).toEqual([1]);
});

test("when the group shares out its partitions anew, a prepared batch is aborted and delivered again", async () => {
  const { first, handled, texts } = await prepareFirst();
  const other = await holdBatches(kafka);
  onTestFinished(other.stop);
  await eventually(async () => expect(first.batch.signal.aborted).toBe(true), 20_000);
  await eventually(async () => expect([...texts(), ...other.texts()]).toEqual(["first", "first"]), 20_000);
  for (const { end } of [...handled, ...other.handled]) end();
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([1]));
});
