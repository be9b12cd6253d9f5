import { setTimeout as sleep } from "node:timers/promises";
import { deadLettersTo } from "@noisefloor/ingest/dead-letter.ts";
import { FALLBACK_ID_HEADER } from "@noisefloor/ingest/record-id.ts";
import type { KafkaSettings } from "@noisefloor/ingest/service.ts";
import { ensureTopics } from "@noisefloor/kafka/kafkajs-admin.ts";
import type { StreamProducer } from "@noisefloor/kafka/source.ts";
import { createMetrics, type Metrics } from "@noisefloor/telemetry/metrics.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { addressOf, observationLine } from "../../support/builders/observation.ts";
import { publishWithDeltas } from "../../support/builders/odd-batches.ts";
import { eventually } from "../../support/eventually.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import {
  type ConsumingWorld,
  committedOffsets,
  deleteTopic,
  endOffsets,
  freshKafka,
  ingestOf,
  openConsumingWorld,
  publishBomb,
  publishGzipped,
  publishInTransaction,
  readTopic,
} from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";
import type { World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;

let opened: ConsumingWorld;
let world: World;
let kafka: KafkaSettings;
let producer: StreamProducer;
let metrics: Metrics;

beforeEach(async () => {
  metrics = createMetrics();
  opened = await openConsumingWorld(now, metrics);
  ({ world, kafka, producer } = opened);
});
afterEach(() => opened.close());

const stored = () => readStored(world);

function good(last: number): Buffer {
  return Buffer.from(observationLine(addressOf(last), NOW - 60_000));
}
const committed = async () => (await committedOffsets(kafka)).map((offset) => Math.max(0, offset));
const lines = (parts: readonly (Buffer | string)[]) => Buffer.from(parts.join("\n"));

test("a message with thousands of headers, and a bomb, hold up nothing: the bomb is kept as it came", async () => {
  const headers = Object.fromEntries(Array.from({ length: 7_000 }, (_, index) => [`h${index}`, ""]));
  await producer.produce(kafka.topic, [{ key: null, value: good(1), headers }]);
  const bomb = await publishBomb(kafka, 257);
  await producer.produce(
    kafka.topic,
    Array.from({ length: 20 }, (_, index) => ({ key: null, value: good(index) })),
  );
  const [dead] = await readTopic(kafka, kafka.deadLetterTopic, 1);
  expect(dead?.headers).toMatchObject({ "noisefloor-reason": "unreadable-batch", "noisefloor-topic": kafka.topic });
  expect(dead?.headers["noisefloor-detail"]).toMatch(/^the batch of the offsets \d to \d cannot be read: /);
  expect(dead?.value.subarray(61).equals(bomb)).toBe(true);
  await eventually(async () => expect(await stored()).toHaveLength(21));
});

test.each([
  ["before its own", (index: number) => index - 5],
  ["behind its own", (index: number) => index + 1_000_000],
  ["that are all the same", () => 0],
])(
  "a batch whose messages have offsets %s is kept as it came, and what follows is read once",
  async (_where, deltaOf) => {
    const values = [1, 2, 3, 4, 5].map(good);
    await publishWithDeltas(kafka, values, deltaOf);
    const [dead] = await readTopic(kafka, kafka.deadLetterTopic, 1);
    expect(dead?.headers).toMatchObject({ "noisefloor-reason": "unreadable-batch", "noisefloor-offset": "4" });
    for (const value of values) expect(dead?.value.includes(value)).toBe(true);
    await producer.produce(kafka.topic, [{ key: null, value: good(6) }]);
    await eventually(async () => expect((await stored()).map(({ ip }) => ip)).toEqual(["45.0.0.6"]));
    await eventually(async () => expect(await committed()).toEqual(await endOffsets(kafka)));
    expect(await metrics.text()).toMatch(/noisefloor_ingest_records_total\{[^}]*unreadable-batch[^}]*\} 1\n/);
  },
);

test("a topic that takes less than the records are long gets them cut, and the consumer goes on", async () => {
  const measured = { ...freshKafka(), partitions: 1 };
  // As a topic is that somebody else has made.
  const config = { "max.message.bytes": String(1024 * 1024 + 12) };
  await ensureTopics(measured.connection, [{ name: measured.deadLetterTopic, partitions: 1, config }], silent);
  const other = await ingestOf(world, measured, now);
  onTestFinished(() => other.stop());
  const tooMany = lines(Array.from({ length: 1_001 }, () => "x".repeat(3_000)));
  await other.start();
  await producer.produce(measured.topic, [{ key: Buffer.from("nearly"), value: Buffer.alloc(1_048_400, "x") }]);
  await publishGzipped(measured, [tooMany], Buffer.from("packed"));
  await publishGzipped(measured, [Buffer.alloc(8 * 1024 * 1024, "x")], Buffer.alloc(9 * 1024 * 1024, "k"));
  await publishGzipped(measured, [lines(Array.from({ length: 1_000 }, () => "x"))], Buffer.alloc(900_000, "k"));
  await producer.produce(measured.topic, [{ key: null, value: good(1) }]);
  const dead = await readTopic(measured, measured.deadLetterTopic, 1_003);
  const cutOf = (header: string) =>
    dead
      .map(({ headers }) => headers[header])
      .filter((note, index, notes) => note !== undefined && notes.indexOf(note) === index);
  expect(cutOf("noisefloor-cut-from")).toEqual(["1048400", String(tooMany.length), String(8 * 1024 * 1024)]);
  expect(cutOf("noisefloor-key-cut-from")).toEqual([String(9 * 1024 * 1024), "900000"]);
  expect([dead[0]?.key, dead[0]?.value.length]).toEqual(["nearly", 524_200]);
  expect(new Set(dead.slice(3).map(({ headers }) => headers["noisefloor-index"])).size).toBe(1_000);
  await eventually(async () => expect(await stored()).toHaveLength(1));
});

test("of a letter that its topic takes nothing else of, the reason is kept", async () => {
  const config = { "max.message.bytes": "700" };
  const topic = `${kafka.deadLetterTopic}-small`;
  await ensureTopics(kafka.connection, [{ name: topic, partitions: 1, config }], silent);
  const message = {
    topic: "t",
    partition: 0,
    offset: "7",
    key: Buffer.alloc(2_000),
    value: Buffer.alloc(2_000),
    headers: {},
    timestamp: 0,
  };
  const record = { message, bytes: message.value, index: 0, fallbackId: "" };
  await deadLettersTo(producer.produce, topic)([{ record, rejection: { reason: "not-json", detail: "" } }]);
  const [dead] = await readTopic(kafka, topic, 1);
  expect(dead).toMatchObject({ key: "", value: Buffer.alloc(0) });
  expect(dead?.headers).toMatchObject({
    "noisefloor-reason": "not-json",
    "noisefloor-cut-from": "2000",
    "noisefloor-key-cut-from": "2000",
  });
});

test("a header that names records, as long as a message may be, names none of a thousand", async () => {
  const headers = { [FALLBACK_ID_HEADER]: "x".repeat(900_000) };
  const thousand = lines(Array.from({ length: 1_000 }, (_, index) => good(index)));
  await producer.produce(kafka.topic, [{ key: null, value: thousand, headers }]);
  await eventually(async () => expect(await stored()).toHaveLength(1_000));
  expect((await stored())[0]?.id).toMatch(new RegExp(`^kafka:${kafka.topic}/\\d/0/\\d+$`));
});

test("of messages packed by the hundred, each of a thousand records, what is done is committed while the rest waits", async () => {
  const alter = (what: string) => world.client.command({ query: `ALTER TABLE observations ${what}` });
  await world.store([JSON.parse(String(good(1)))]);
  await alter("MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1");
  const tooMany = lines(Array.from({ length: 1_001 }, () => "1"));
  await publishGzipped(kafka, [...Array.from({ length: 200 }, () => tooMany), good(2)]);
  const committed = await eventually(async () => {
    const [first = 0] = await committedOffsets(kafka);
    expect(first).toBeGreaterThan(0);
    return first;
  });
  expect(committed).toBeLessThan(200);
  await alter("RESET SETTING parts_to_throw_insert");
  await eventually(async () => expect((await committedOffsets(kafka))[0]).toBe(201));
  expect(await readTopic(kafka, kafka.deadLetterTopic, 200)).toHaveLength(200);
  expect((await stored()).map(({ ip }) => ip)).toEqual(["45.0.0.1", "45.0.0.2"]);
});

test("what transactions leave behind, and what they take back, is committed too: the lag becomes 0", async () => {
  await publishInTransaction(kafka, [good(1), good(2)], "commit");
  await publishInTransaction(kafka, [good(3)], "abort");
  await eventually(async () => expect(await committed()).toEqual(await endOffsets(kafka)));
  expect((await stored()).map(({ ip }) => ip)).toEqual(["45.0.0.1", "45.0.0.2"]);
});

test("a dead-letter topic that is away is waited for, without that the consumer begins anew", async () => {
  await deleteTopic(kafka, kafka.deadLetterTopic);
  await producer.produce(kafka.topic, [{ key: null, value: Buffer.from("42") }]);
  // Longer than the client library tries by itself.
  await sleep(12_000);
  await opened.ingest.checks.kafka?.();
  await ensureTopics(kafka.connection, [{ name: kafka.deadLetterTopic, partitions: 1 }], silent);
  expect(await readTopic(kafka, kafka.deadLetterTopic, 1)).toMatchObject([{ value: Buffer.from("42") }]);
  await eventually(async () => expect((await committedOffsets(kafka)).filter((offset) => offset > 0)).toEqual([1]));
  expect(await metrics.text()).toContain("noisefloor_kafka_restarts_total 0");
});
