import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import type { KafkaSettings } from "@noisefloor/ingest/service.ts";
import { kafkaSource } from "@noisefloor/kafka/kafkajs.ts";
import { ensureTopics } from "@noisefloor/kafka/kafkajs-admin.ts";
import type { HandleBatch, StreamProducer, StreamSource } from "@noisefloor/kafka/source.ts";
import kafkajs from "kafkajs";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { freshKafka, producerOf } from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";

type Library = { readonly prototype: Record<string, (...args: unknown[]) => Promise<unknown>> };
const load = createRequire(import.meta.url);
const CLUSTER: Library = load("kafkajs/src/cluster/index.js");
const BROKERS: Library = load("kafkajs/src/cluster/brokerPool.js");
const BROKER: Library = load("kafkajs/src/broker/index.js");

let kafka: KafkaSettings;
let producer: StreamProducer;
beforeEach(async () => {
  kafka = freshKafka();
  await ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 1 }], silent);
  producer = await producerOf(kafka);
});
afterEach(() => producer.close());

/** Has brokers answer a request otherwise, as often as told; then they do as always. */
function disturb({ prototype }: Library, method: string, times: number, instead: () => Promise<unknown>) {
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

function sourceOf(handle?: HandleBatch) {
  const seen: string[] = [];
  let restarts = 0;
  const source = kafkaSource(
    kafka.connection,
    { ...kafka, fromBeginning: true, onRestart: () => void restarts++ },
    silent,
  );
  const start = () =>
    source.start(handle ?? (async ({ messages }) => void seen.push(...messages.map(({ value }) => String(value)))));
  return { source, start, seen, restarts: () => restarts };
}

const publish = (text: string) => producer.produce(kafka.topic, [{ key: null, value: Buffer.from(text) }]);

/** Why the source has died, or "alive" while it has not. */
const fateOf = (source: StreamSource) =>
  Promise.race([source.failure.catch((error: unknown) => String(error)), sleep(100).then(() => "alive")]);

test("a coordinator that is away, which the client library gives up on, is waited for", async () => {
  disturb(BROKERS, "withBroker", 2, async () => null);
  const { source, start, seen, restarts } = sourceOf();
  onTestFinished(() => source.stop());
  await publish("while it was away");
  await start();
  await eventually(async () => expect(seen).toEqual(["while it was away"]));
  expect(await fateOf(source)).toBe("alive");
  expect(restarts()).toBe(2);
});

test("an error that nobody knows, the library's or the handler's, ends the source", async () => {
  const repair = disturb(CLUSTER, "findGroupCoordinator", 99, async () => {
    throw new TypeError("nobody knows this");
  });
  const first = sourceOf();
  await first.start();
  await eventually(async () => expect(await fateOf(first.source)).toMatch("nobody knows this"));
  repair();
  await first.source.stop();
  const second = sourceOf(() => Promise.reject(new Error("nor this")));
  await publish("x");
  await second.start();
  await eventually(async () => expect(await fateOf(second.source)).toMatch("nor this"));
  await second.source.stop();
});

test("a consumer that joins its group but gets nothing is not taken for alive", async () => {
  let tries = 0;
  const repair = disturb(BROKER, "fetch", 99, async () => {
    tries++;
    throw new kafkajs.KafkaJSRequestTimeoutError("no answer");
  });
  const { source, start, seen } = sourceOf();
  onTestFinished(() => source.stop());
  await publish("x");
  await start();
  await eventually(async () => expect(tries).toBeGreaterThan(1));
  expect(source.isAlive()).toBe(false);
  repair();
  await eventually(async () => expect(seen).toEqual(["x"]));
  expect(source.isAlive()).toBe(true);
});

test("a stop in the middle of an error is a stop", async () => {
  let stopped: Promise<void> | undefined;
  let tries = 0;
  const { source, start, seen, restarts } = sourceOf();
  disturb(CLUSTER, "findGroupCoordinator", 1, async () => {
    tries++;
    stopped = source.stop();
    throw new kafkajs.KafkaJSError("the brokers are away");
  });
  await publish("x");
  await start();
  await stopped;
  // As soon would it have begun anew.
  await sleep(1_500);
  expect([tries, seen, restarts()]).toEqual([1, [], 0]);
});
