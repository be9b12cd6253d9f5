import { StoreFullError } from "@noisefloor/clickhouse/client/errors.ts";
import { FALLBACK_ID_HEADER } from "@noisefloor/ingest/record-id.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import type { StreamProducer } from "@noisefloor/kafka/port/port.ts";
import { createMetrics, type Metrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { addressOf, observationLine } from "../../support/builders/observation.ts";
import { publishWithDeltas } from "../../support/builders/odd-batches.ts";
import { eventually } from "../../support/eventually.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { testInFull } from "../../support/test-in-full.ts";
import { atVolume } from "../../support/volume.ts";
import {
  type ConsumingWorld,
  committedOffsets,
  endOffsets,
  ingestOf,
  openConsumingWorld,
  publishBomb,
  publishGzipped,
  publishInTransaction,
} from "../../support/worlds/consuming-world.ts";
import { kafkaDeadLettersOf } from "../../support/worlds/dead-letters.ts";
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

testInFull(
  "a message with thousands of headers, or a decompression bomb, blocks nothing: the bomb is kept as it came",
  async () => {
    const headers = Object.fromEntries(Array.from({ length: 7_000 }, (_, index) => [`h${index}`, ""]));
    await producer.produce(kafka.topic, [{ key: null, value: good(1), headers }]);
    const bomb = await publishBomb(kafka, 257);
    await producer.produce(
      kafka.topic,
      Array.from({ length: 20 }, (_, index) => ({ key: null, value: good(index) })),
    );
    const [dead] = await kafkaDeadLettersOf(world, 1);
    expect(dead).toMatchObject({ reason: "unreadable-batch", topic: kafka.topic });
    expect(dead?.detail).toMatch(/^the batch of offsets \d to \d cannot be decoded: /);
    expect(dead?.payload.subarray(61).equals(bomb)).toBe(true);
    await eventually(async () => expect(await stored()).toHaveLength(21));
  },
);

type Offsets = [string, (index: number) => number];

test.each<Offsets>([
  ["beyond its last offset", (index) => index + 1_000_000],
  ...atVolume<Offsets[]>(
    [],
    [
      ["before its base offset", (index) => index - 5],
      ["that are all equal", () => 0],
    ],
  ),
])(
  "a batch whose messages have offsets %s is kept as it came, and what follows is read once",
  async (_where, deltaOf) => {
    const values = [1, 2, 3, 4, 5].map(good);
    await publishWithDeltas(kafka, values, deltaOf);
    const [dead] = await kafkaDeadLettersOf(world, 1);
    expect(dead).toMatchObject({ reason: "unreadable-batch", offset: "4" });
    for (const value of values) expect(dead?.payload.includes(value)).toBe(true);
    await producer.produce(kafka.topic, [{ key: null, value: good(6) }]);
    await eventually(async () => expect((await stored()).map(({ ip }) => ip)).toEqual(["45.0.0.6"]));
    await eventually(async () => expect(await committed()).toEqual(await endOffsets(kafka)));
    expect(await metrics.text()).toMatch(/noisefloor_ingest_records_total\{[^}]*unreadable-batch[^}]*\} 1\n/);
  },
);

test("records, keys and headers of any length are kept up to a limit, with their length, and block nothing", async () => {
  const tooMany = lines(Array.from({ length: 1_001 }, () => "x".repeat(3_000)));
  const huge = Buffer.alloc(8 * 1024 * 1024 + 1, "x");
  await publishGzipped(kafka, [tooMany], Buffer.from("packed"));
  await publishGzipped(kafka, [huge], Buffer.alloc(9 * 1024 * 1024, "k"));
  await publishGzipped(kafka, [lines(Array.from({ length: 1_000 }, () => "x"))], Buffer.alloc(900_000, "k"));
  const headers = { long: "x".repeat(900_000), short: "kept", [FALLBACK_ID_HEADER]: `http:${"0".repeat(8)}` };
  await producer.produce(kafka.topic, [{ key: Buffer.from([0xff]), value: Buffer.from([0xff, 0]), headers }]);
  await producer.produce(kafka.topic, [{ key: null, value: good(1) }]);
  const dead = await kafkaDeadLettersOf(world, 1_003);
  const find = (bytes: Buffer) =>
    dead.find(({ payload, payloadBytes }) => payloadBytes === bytes.length && payload[0] === bytes[0]);
  expect(find(tooMany)).toMatchObject({ reason: "too-many-observations", key: Buffer.from("packed"), keyBytes: 6 });
  expect(find(tooMany)?.payload.equals(tooMany), "the whole payload").toBe(true);
  expect(find(huge)).toMatchObject({ reason: "oversize", key: Buffer.alloc(1_024, "k"), keyBytes: 9 * 1024 * 1024 });
  expect(find(huge)?.payload.equals(huge.subarray(0, 8 * 1024 * 1024)), "the stored part").toBe(true);
  expect(find(Buffer.from([0xff, 0]))).toMatchObject({
    payload: Buffer.from([0xff, 0]),
    key: Buffer.from([0xff]),
    headers: { short: "kept", [FALLBACK_ID_HEADER]: `http:${"0".repeat(8)}` },
  });
  const ofOne = dead.filter(({ keyBytes }) => keyBytes === 900_000);
  expect(new Set(ofOne.map(({ position }) => position)).size).toBe(1_000);
  expect(ofOne.every(({ key, payload }) => key.length === 1_024 && payload.equals(Buffer.from("x")))).toBe(true);
  await eventually(async () => expect(await stored()).toHaveLength(1));
});

test("an overlong header with a fallback id is ignored, as each of a thousand records would carry it", async () => {
  const headers = { [FALLBACK_ID_HEADER]: "x".repeat(900_000) };
  const thousand = lines(Array.from({ length: 1_000 }, (_, index) => good(index)));
  await producer.produce(kafka.topic, [{ key: null, value: thousand, headers }]);
  await eventually(async () => expect(await stored()).toHaveLength(1_000));
  expect((await stored())[0]?.id).toMatch(new RegExp(`^kafka:${kafka.topic}/\\d/0/\\d+$`));
});

test("of a batch of a hundred messages with a thousand records each, the stored part is committed while the rest waits", async () => {
  const alter = (what: string) => world.client.command({ query: `ALTER TABLE observations ${what}` });
  await world.store([JSON.parse(String(good(1)))]);
  await alter("MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1");
  // Of megabytes of messages the first ones are a batch of their own.
  const tooMany = lines(Array.from({ length: 1_001 }, () => JSON.stringify("x".repeat(100))));
  await publishGzipped(kafka, [...Array.from({ length: 200 }, () => tooMany), good(2)]);
  const committed = await eventually(async () => {
    const [first = 0] = await committedOffsets(kafka);
    expect(first).toBeGreaterThan(0);
    return first;
  });
  expect(committed).toBeLessThan(200);
  await alter("RESET SETTING parts_to_throw_insert");
  await eventually(async () => expect((await committedOffsets(kafka))[0]).toBe(201));
  expect(new Set((await kafkaDeadLettersOf(world, 200)).map(({ offset }) => offset)).size).toBe(200);
  expect((await stored()).map(({ ip }) => ip)).toEqual(["45.0.0.1", "45.0.0.2"]);
});

test("control records and aborted messages are committed past: the lag becomes 0", async () => {
  await publishInTransaction(kafka, [good(1), good(2)], "commit");
  await publishInTransaction(kafka, [good(3)], "abort");
  // The broker writes the end of a transaction later than it says so, and until then the topic seems to end before it.
  const [messages, ends] = [3, 2];
  await eventually(async () =>
    expect((await endOffsets(kafka)).reduce((sum, end) => sum + end, 0)).toBeGreaterThanOrEqual(messages + ends),
  );
  await eventually(async () => expect(await committed()).toEqual(await endOffsets(kafka)));
  expect((await stored()).map(({ ip }) => ip)).toEqual(["45.0.0.1", "45.0.0.2"]);
});

test("a dead letter that cannot be stored blocks the commit and is retried without a restart of the consumer", async () => {
  const alter = (what: string) => world.client.command({ query: `ALTER TABLE dead_letters ${what}` });
  await producer.produce(kafka.topic, [{ key: null, value: Buffer.from("{broken") }]);
  await kafkaDeadLettersOf(world, 1);
  await eventually(async () => expect(await committed()).toEqual(await endOffsets(kafka)));
  await opened.ingest.stop();
  const before = await committed();
  await alter("MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1");

  const retries: number[] = [];
  const logLine = z.object({ msg: z.string(), attempt: z.number().optional() });
  const write = (line: string) => {
    const { msg, attempt = 0 } = logLine.parse(JSON.parse(line));
    if (msg === "storing dead letters failed, retrying") retries.push(attempt);
  };
  metrics = createMetrics();
  opened.ingest = await ingestOf(world, kafka, now, [], metrics, undefined, { log: pino({}, { write }) });
  await opened.ingest.start();
  await producer.produce(kafka.topic, [{ key: null, value: Buffer.from("42") }]);
  await eventually(async () => expect(Math.max(...retries)).toBeGreaterThanOrEqual(5));
  await opened.ingest.checks.kafka?.();
  expect(await committed(), "nothing is committed meanwhile").toEqual(before);
  await alter("RESET SETTING parts_to_throw_insert, parts_to_delay_insert");
  const dead = await kafkaDeadLettersOf(world, 2);
  expect(dead.map(({ payload }) => payload.toString()).sort()).toEqual(["42", "{broken"]);
  await eventually(async () => expect(await committed()).toEqual(await endOffsets(kafka)));
  expect(await metrics.text()).toContain("noisefloor_kafka_restarts_total 0");
});

test("a stop does not wait for a dead letter that cannot be stored, and the next consumer stores it", async () => {
  let isFull = true;
  const assertSpace = () => {
    if (isFull) throw new StoreFullError("no space");
  };
  await opened.ingest.stop();
  const disk = { assertSpace, freeBytes: () => 0, floorBytes: () => 1, ageSeconds: () => 0, stop: () => {} };
  let retries = 0;
  const log = pino({}, { write: (line: string) => void (line.includes("storing dead letters failed") && retries++) });
  opened.ingest = await ingestOf(world, kafka, now, [], createMetrics(), undefined, { disk, log });
  await opened.ingest.start();
  await producer.produce(kafka.topic, [{ key: null, value: Buffer.from("42") }]);
  await eventually(async () => expect(retries).toBeGreaterThanOrEqual(5));
  const start = performance.now();
  await opened.ingest.stop();
  expect(performance.now() - start, "a pause of up to 5 s is aborted").toBeLessThan(4_000);
  isFull = false;
  opened.ingest = await ingestOf(world, kafka, now, [], createMetrics(), undefined, { disk });
  await opened.ingest.start();
  expect(await kafkaDeadLettersOf(world, 1)).toMatchObject([
    { payload: Buffer.from("42"), reason: "invalid-observation" },
  ]);
});

testInFull("endless garbage cannot fill the disk: what is beyond Kafka's daily quota is only counted", async () => {
  await opened.ingest.stop();
  const options = { deadLetterBytesPerDay: 100_000 };
  metrics = createMetrics();
  opened.ingest = await ingestOf(world, kafka, now, [], metrics, undefined, options);
  await opened.ingest.start();
  const garbage = Array.from({ length: 100 }, (_, n) => ({ key: null, value: Buffer.alloc(3_000, String(n % 10)) }));
  await producer.produce(kafka.topic, [...garbage, { key: null, value: good(1) }]);
  await eventually(async () => expect(await committed()).toEqual(await endOffsets(kafka)));
  await opened.ingest.stop();
  const whole = Math.floor(100_000 / 3_200);
  const { length } = await eventually(async () => {
    const text = await metrics.text();
    const [, left = "0"] = /noisefloor_dead_letters_not_kept_total\{source="kafka"\} (\d+)/.exec(text) ?? [];
    expect(Number(left)).toBeGreaterThan(50);
    return kafkaDeadLettersOf(world, 100 - Number(left));
  });
  expect(length).toBeLessThanOrEqual(whole + 2);
  expect((await stored()).map(({ ip }) => ip)).toEqual(["45.0.0.1"]);
});
