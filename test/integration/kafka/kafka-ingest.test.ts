import { consumerLag } from "@noisefloor/clickhouse/sensors/consumer-lag.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import type { StreamProducer } from "@noisefloor/kafka/port/port.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { addressOf, observation, type SentObservation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { atVolume } from "../../support/volume.ts";
import {
  type ConsumingWorld,
  committedOffsets,
  freshKafka,
  ingestOf,
  openConsumingWorld,
  publishGzipped,
  withAdmin,
} from "../../support/worlds/consuming-world.ts";
import { kafkaDeadLettersOf } from "../../support/worlds/dead-letters.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
const tag = makeTag("known", "malicious");

let opened: ConsumingWorld;
let world: World;
let kafka: KafkaSettings;
let producer: StreamProducer;

beforeEach(async () => {
  opened = await openConsumingWorld(now);
  ({ world, kafka, producer } = opened);
  await world.addTags([tag]);
});
afterEach(() => opened.close());

const stored = () => readStored(world);

function good(last: number, members: object = {}): SentObservation {
  return observation(addressOf(last), NOW - 60_000, { tags: ["known"], ...members });
}

function bytes(...values: unknown[]): Buffer {
  return Buffer.from(values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n"));
}

test("bad messages among good ones: the good are stored, each bad one is kept with its bytes, key and reason", async () => {
  const future = good(900, { observed_at: new Date(NOW + 6 * 60_000).toISOString() });
  const huge = Buffer.from(JSON.stringify(good(901, { rdns: "x".repeat(2 * 1024 * 1024) })));
  const poison: [payload: Buffer, reason: string][] = [
    [bytes("{not json"), "not-json"],
    [Buffer.from([0xff, 0xfe, 0x00, 0x01]), "not-json"],
    [bytes(good(902, { source_port: "22" })), "invalid-observation"],
    [bytes("42"), "invalid-observation"],
    [huge, "oversize"],
    [bytes(good(903, { tags: ["never-heard-of"] })), "unknown-tag"],
    [bytes(future), "in-the-future"],
    [bytes(good(904, { source_ip: "10.0.0.1" })), "source-not-routable"],
    [bytes(good(905, { observed_at: new Date(NOW - 101 * 86_400_000).toISOString() })), "older-than-retention"],
    [bytes(...Array.from({ length: 1_001 }, (_, index) => good(index))), "too-many-observations"],
    [Buffer.alloc(0), "not-json"],
    [Buffer.from(JSON.stringify(good(906, { http: { path: "/\ud83d" } }))), "invalid-observation"],
    [Buffer.from(JSON.stringify(good(907, { tags: ["\ud800"] }))), "invalid-observation"],
    [bytes(`{"metadata":${"[".repeat(8_000)}${"]".repeat(8_000)}}`), "oversize"],
    [
      bytes(JSON.stringify(good(908)).replace(/}$/, `,"metadata":{"deep":${"[".repeat(8_000)}${"]".repeat(8_000)}}}`)),
      "oversize",
    ],
    [bytes(good(909, { [`\ud800${"x".repeat(5_000)}`]: 1 })), "invalid-observation"],
  ];
  const messages = Array.from({ length: 10 * poison.length }, (_, index) => {
    const bad = index % 10 === 5 ? poison[(index - 5) / 10] : undefined;
    return { key: Buffer.from(`key-${index}`), value: bad?.[0] ?? bytes(good(index)), reason: bad?.[1] };
  });
  await producer.produce(kafka.topic, messages);

  const dead = await kafkaDeadLettersOf(world, poison.length);
  const expected = messages.filter(({ reason }) => reason !== undefined);
  expect(dead.map(({ key }) => key.toString()).sort()).toEqual(expected.map(({ key }) => key.toString()).sort());
  for (const { key, payload, payloadBytes, reason, topic, offset } of dead) {
    const sent = expected.find((message) => message.key.equals(key));
    expect(reason).toBe(sent?.reason);
    expect(payload.equals(sent?.value ?? Buffer.from("?")), `bytes of ${key}`).toBe(true);
    expect(payloadBytes).toBe(payload.length);
    expect(topic).toBe(kafka.topic);
    expect(Number(offset)).toBeGreaterThanOrEqual(0);
  }
  await eventually(async () => expect(await stored()).toHaveLength(9 * poison.length));

  await producer.produce(kafka.topic, [{ key: null, value: bytes(good(2_000)) }]);
  await eventually(async () =>
    expect(await stored(), "the consumer is still running").toHaveLength(9 * poison.length + 1),
  );
});

test("a message may hold one observation, an array or NDJSON; a bad element does not affect its neighbours", async () => {
  const bad = '{"observed_at":"yesterday", "sensor_id":"s"}';
  await producer.produce(kafka.topic, [
    { key: null, value: bytes(good(1)) },
    { key: null, value: Buffer.from(`[${JSON.stringify(good(2))}, ${bad} ,${JSON.stringify(good(3))}]`) },
    { key: null, value: bytes(good(4), bad, "", good(5)) },
  ]);
  await eventually(async () =>
    expect((await stored()).map(({ ip }) => ip)).toEqual([1, 2, 3, 4, 5].map((last) => `45.0.0.${last}`)),
  );
  const dead = await kafkaDeadLettersOf(world, 2);
  expect(dead.map(({ payload, position }) => [payload.toString(), position])).toEqual([
    [bad, 1],
    [bad, 1],
  ]);
});

test("offsets are committed after storing, so a new member of the group continues where the last one ended", async () => {
  await producer.produce(
    kafka.topic,
    Array.from({ length: 500 }, (_, index) => ({ key: null, value: bytes(good(index)) })),
  );
  await eventually(async () => expect(await stored()).toHaveLength(500));
  await opened.ingest.stop();
  const offsets = await committedOffsets(kafka);
  expect(offsets.filter((offset) => offset > 0).reduce((sum, offset) => sum + offset, 0)).toBe(500);

  await producer.produce(kafka.topic, [{ key: null, value: bytes(good(600)) }]);
  opened.ingest = await ingestOf(world, kafka, now);
  await opened.ingest.start();
  await eventually(async () => expect(await stored()).toHaveLength(501));
});

test("a stop under load loses nothing", async () => {
  const count = atVolume(5_000, 20_000);
  const flood = Array.from({ length: count }, (_, index) => ({
    key: null,
    value: bytes(good(index, { observation_id: `flood-${index}` })),
  }));
  const flooding = producer.produce(kafka.topic, flood);
  await eventually(async () => expect((await stored()).length).toBeGreaterThan(0));
  await opened.ingest.stop();
  await flooding;
  opened.ingest = await ingestOf(world, kafka, now);
  await opened.ingest.start();
  await eventually(async () => expect(await stored()).toHaveLength(count));
});

test("of a compressed message of 20 MiB the first 8 MiB and its size are kept, and it blocks nothing", async () => {
  const huge = Buffer.alloc(20 * 1024 * 1024, "x");
  await publishGzipped(kafka, [huge]);
  await producer.produce(
    kafka.topic,
    Array.from({ length: 20 }, (_, index) => ({ key: null, value: bytes(good(index)) })),
  );
  const [dead] = await kafkaDeadLettersOf(world, 1);
  expect(dead).toMatchObject({ reason: "oversize", payloadBytes: huge.length });
  expect(dead?.payload.equals(huge.subarray(0, 8 * 1024 * 1024))).toBe(true);
  await eventually(async () => expect(await stored()).toHaveLength(20));
});

test("the same messages delivered to two groups, in other batches, are the same observations", async () => {
  const messages = Array.from({ length: 3_000 }, (_, index) => ({ key: null, value: bytes(good(index % 700)) }));
  await producer.produce(kafka.topic, messages);
  await eventually(async () => expect(await stored()).toHaveLength(3_000));
  const path = `/v3/tags/${tag.id}/activity?include_ips=true`;
  const before = [await world.get(path), await world.get("/v3/community/45.0.0.1"), await stored()];

  const other = await ingestOf(world, { ...kafka, groupId: `${kafka.groupId}-again` }, now);
  await other.start();
  await eventually(async () =>
    expect((await committedOffsets({ ...kafka, groupId: `${kafka.groupId}-again` })).reduce((a, b) => a + b, 0)).toBe(
      3_000,
    ),
  );
  await other.stop();
  expect([await world.get(path), await world.get("/v3/community/45.0.0.1"), await stored()]).toEqual(before);
});

test("records without a time count once when they are delivered again, at the time of their message", async () => {
  const topic = `${kafka.topic}-raw`;
  const consume = (at: number) =>
    ingestOf(
      world,
      { ...kafka, groupId: `${kafka.groupId}-${at}`, rawTopics: [{ topic, format: "honeypots" }] },
      () => at,
    );
  const first = await consume(NOW);
  const logins = ["a", "b"].map((username) =>
    bytes({ action: "login", server: "ssh_server", src_ip: "45.0.0.9", dest_port: "22", username, password: "x" }),
  );
  await producer.produce(
    topic,
    logins.map((value) => ({ key: null, value })),
  );
  await first.start();
  await eventually(async () => expect(await stored()).toHaveLength(2));
  const before = await stored();
  await first.stop();
  const second = await consume(NOW + 60_000);
  await second.start();
  await eventually(async () => {
    const raw = { ...kafka, topic, groupId: `${kafka.groupId}-${NOW + 60_000}.${topic}` };
    const committed = await committedOffsets(raw);
    expect(committed.reduce((sum, offset) => sum + Math.max(0, offset), 0)).toBe(2);
  });
  await second.stop();
  expect(await stored()).toEqual(before);
});

test("messages that the topic deletes before they are read are counted and named", async () => {
  await opened.ingest.stop();
  await producer.produce(
    kafka.topic,
    [1, 2, 3].map((last) => ({ key: Buffer.from("one"), value: bytes(good(last)) })),
  );
  const metrics = createMetrics();
  await withAdmin(kafka, async (admin) => {
    const [end] = (await admin.fetchTopicOffsets(kafka.topic)).filter(({ high }) => high !== "0");
    const { partition = 0, high = "0" } = end ?? {};
    await admin.setOffsets({ ...kafka, partitions: [{ partition, offset: "0" }] });
    await admin.deleteTopicRecords({
      topic: kafka.topic,
      partitions: [{ partition, offset: String(Number(high) - 1) }],
    });
  });
  opened.ingest = await ingestOf(world, kafka, now, [], metrics);
  await opened.ingest.start();
  await eventually(async () => expect(await stored()).toHaveLength(1));
  const lines = (await metrics.text()).split("\n");
  expect(lines).toContain(`noisefloor_kafka_unreadable_messages_total{topic="${kafka.topic}"} 2`);
});

test("a clock two hours ahead is a 503 with the reason, and the intake is not ready", async () => {
  const intake = await ingestOf(world, kafka, now);
  const app = await makeApp(INGEST_OPERATIONS, intake.register);
  const post = () => app.inject({ method: "POST", url: "/v1/observations", payload: bytes(good(1, { tags: [] })) });
  expect((await post()).statusCode).toBe(202);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 3_600_000 });
  try {
    const refused = await post();
    expect(refused.statusCode).toBe(503);
    expect(refused.json().message).toMatch(/^Nothing is stored: this machine's clock is .*ahead of .*Kafka/);
  } finally {
    vi.useRealTimers();
  }
  expect((await post()).statusCode).toBe(202);
  await app.close();
  await intake.stop();
  const late = await ingestOf(world, undefined, now, [], createMetrics(), undefined, {
    storeSkewMs: () => -2 * 3_600_000,
  });
  const other = await makeApp(INGEST_OPERATIONS, late.register);
  const answer = await other.inject({ method: "POST", url: "/v1/observations", payload: bytes(good(2)) });
  expect(answer.statusCode).toBe(503);
  expect(answer.json().message).toContain("this machine's clock is 2.0 hours ahead of ClickHouse's");
  await expect(late.checks.clock?.()).rejects.toThrow("2.0 hours ahead");
  await other.close();
  await late.stop();
});

test("metrics count records by outcome, rows of inserts and the lag of the group; the consumer is alive", async () => {
  const metrics = createMetrics();
  const measured = { ...(await freshKafka()), lagIntervalMs: 200 };
  const other = await ingestOf(world, measured, now, [], metrics);
  await expect(other.checks.kafka?.()).rejects.toThrow("no fetch or heartbeat for 60 s");
  await producer.produce(
    measured.topic,
    Array.from({ length: 600 }, (_, index) => ({ key: null, value: bytes(index % 6 === 0 ? "42" : good(index)) })),
  );
  await other.start();
  await eventually(async () => {
    const text = await metrics.text();
    expect(text).toContain('noisefloor_ingest_records_total{source="kafka",outcome="accepted"} 500');
    expect(text).toContain('noisefloor_ingest_records_total{source="kafka",outcome="invalid-observation"} 100');
    expect(text).toMatch(/noisefloor_insert_rows_sum 500/);
    expect(text).toMatch(/noisefloor_insert_duration_seconds_count\{outcome="stored"\} [1-9]/);
    expect(text).toMatch(/noisefloor_last_insert_timestamp_seconds 1\d{9}/);
    for (const partition of [0, 1]) {
      expect(text).toContain(`noisefloor_kafka_consumer_lag{partition="${partition}"} 0`);
    }
    const lags = await consumerLag.read(world.client);
    expect(lags.find(({ topic }) => topic === measured.topic)).toMatchObject({ messages: 0 });
  });
  await other.checks.kafka?.();
  await other.stop();
});

test("a missing topic that must not be created is named before anything else happens", async () => {
  const missing = { ...kafka, createTopics: false, topic: `${kafka.topic}-never-made` };
  await expect(ingestOf(world, missing, now)).rejects.toThrow(
    new RegExp(`has no topic ${missing.topic}, or none .* set KAFKA_CREATE_TOPICS to true$`),
  );
  const other = await ingestOf(world, { ...kafka, createTopics: false }, now);
  await other.stop();
});
