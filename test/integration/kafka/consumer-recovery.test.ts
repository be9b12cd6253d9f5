import { createRequire } from "node:module";
import { setImmediate } from "node:timers/promises";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { ensureTopics } from "@noisefloor/kafka/admin.ts";
import { kafkaConsumer } from "@noisefloor/kafka/consumer.ts";
import type { HandleBatch, StreamConsumer, StreamProducer } from "@noisefloor/kafka/port/port.ts";
import kafkajs from "kafkajs";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { openTransactional } from "../../support/builders/odd-batches.ts";
import { eventually, throughout } from "../../support/eventually.ts";
import { committedOffsets, freshKafka, membersOf, producerOf } from "../../support/worlds/consuming-world.ts";
import { holdBatches } from "../../support/worlds/held-batches.ts";
import { silent } from "../../support/worlds/http.ts";

type Library = { readonly prototype: Record<string, (...args: unknown[]) => Promise<unknown>> };
const load = createRequire(import.meta.url);
const CLUSTER: Library = load("kafkajs/src/cluster/index.js");
const BROKERS: Library = load("kafkajs/src/cluster/brokerPool.js");
const BROKER: Library = load("kafkajs/src/broker/index.js");

let kafka: KafkaSettings;
let producer: StreamProducer;
beforeEach(async () => {
  kafka = await freshKafka();
  await ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 1 }], silent);
  producer = await producerOf(kafka);
});
afterEach(() => producer.close());

/** Replaces a method of the client library for its next calls. @returns a function that restores it. */
function replaceCalls({ prototype }: Library, method: string, times: number, instead: () => Promise<unknown>) {
  const own = prototype[method];
  if (own === undefined) throw new Error(`the client library has no ${method}`);
  let left = times;
  prototype[method] = function (this: unknown, ...args) {
    return left-- > 0 ? instead() : own.apply(this, args);
  };
  onTestFinished(() => {
    prototype[method] = own;
  });
  return () => {
    left = 0;
  };
}

function consumerOf(handle?: HandleBatch) {
  const seen: string[] = [];
  let restarts = 0;
  const consumer = kafkaConsumer(
    kafka.connection,
    { ...kafka, fromBeginning: true, onRestart: () => void restarts++ },
    silent,
  );
  const record: HandleBatch = async ({ messages }) => {
    seen.push(...messages.map(({ value }) => String(value)));
    return { taken: messages.length, stored: Promise.resolve() };
  };
  const start = () => consumer.start(handle ?? record);
  return { consumer, start, seen, restarts: () => restarts };
}

const publish = (text: string) => producer.produce(kafka.topic, [{ key: null, value: Buffer.from(text) }]);

/** The error with which the consumer failed, or "alive". */
const failureOf = (consumer: StreamConsumer) =>
  Promise.race([consumer.failure.catch((error: unknown) => String(error)), setImmediate("alive")]);

test("while the group coordinator is unavailable the consumer restarts, also when the library stops retrying", async () => {
  replaceCalls(BROKERS, "withBroker", 2, async () => null);
  const { consumer, start, seen, restarts } = consumerOf();
  onTestFinished(() => consumer.stop());
  await publish("while it was away");
  await start();
  await eventually(async () => expect(seen).toEqual(["while it was away"]));
  expect(await failureOf(consumer)).toBe("alive");
  expect(restarts()).toBe(2);
});

test("an unknown error, the library's or the handler's, is a failure of the consumer", async () => {
  const repair = replaceCalls(CLUSTER, "findGroupCoordinator", 99, async () => {
    throw new TypeError("unknown error");
  });
  const first = consumerOf();
  await first.start();
  await eventually(async () => expect(await failureOf(first.consumer)).toMatch("unknown error"));
  repair();
  await first.consumer.stop();
  const second = consumerOf(() => Promise.reject(new Error("another one")));
  await publish("x");
  await second.start();
  await eventually(async () => expect(await failureOf(second.consumer)).toMatch("another one"));
  await second.consumer.stop();
});

test("a consumer that joins its group but fetches nothing is not alive", async () => {
  let tries = 0;
  const repair = replaceCalls(BROKER, "fetch", 99, async () => {
    tries++;
    throw new kafkajs.KafkaJSRequestTimeoutError("no answer");
  });
  const { consumer, start, seen } = consumerOf();
  onTestFinished(() => consumer.stop());
  await publish("x");
  await start();
  await eventually(async () => expect(tries).toBeGreaterThan(1));
  expect(consumer.isAlive()).toBe(false);
  repair();
  await eventually(async () => expect(seen).toEqual(["x"]));
  expect(consumer.isAlive()).toBe(true);
});

test("a prepared batch that fails while the consumer restarts is delivered again, and is no failure", async () => {
  await publish("x");
  // Holds back what follows, so that the broker says there is more.
  const transaction = await (await openTransactional(kafka)).transaction();
  await transaction.send({ topic: kafka.topic, messages: [{ value: "held back" }] });
  const { consumer, handled, texts, stop } = await holdBatches(kafka);
  onTestFinished(stop);
  await eventually(async () => expect(texts()).toEqual(["x"]));
  const lostConnection = new kafkajs.KafkaJSConnectionError("the connection is lost");
  let crashes = 0;
  replaceCalls(BROKER, "fetch", 1, async () => {
    crashes++;
    // The library does not retry this one.
    throw new kafkajs.KafkaJSNumberOfRetriesExceeded(lostConnection, { retryCount: 0, retryTime: 0 });
  });
  handled[0]?.prepare();
  await eventually(async () => expect(crashes).toBe(1));
  await eventually(async () => expect(await membersOf(kafka)).toBe(0));
  handled[0]?.end(lostConnection);
  await eventually(async () => expect(texts()).toEqual(["x", "x"]));
  handled[1]?.end();
  await eventually(async () => expect(await committedOffsets(kafka)).toEqual([1]));
  expect(await failureOf(consumer)).toBe("alive");
});

test("a consumer that is stopped during an error does not restart", async () => {
  let stopped: Promise<void> | undefined;
  let tries = 0;
  const { consumer, start, seen, restarts } = consumerOf();
  replaceCalls(CLUSTER, "findGroupCoordinator", 1, async () => {
    tries++;
    stopped = consumer.stop();
    throw new kafkajs.KafkaJSError("the brokers are down");
  });
  await publish("x");
  await start();
  await stopped;
  await throughout(1_500, () => expect([tries, seen, restarts()]).toEqual([1, [], 0]));
});
