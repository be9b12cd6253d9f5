import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { type DiskGuard, openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { observationLine } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { committedOffsets, freshKafka, ingestOf, producerOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;
const PETABYTE = 1e15;
const FULL = "The store's disk is nearly full: nothing is stored until space is freed";

let world: World;
let withSpace: DiskGuard;
/** As if the disk had less free space than the floor. */
let full: DiskGuard;
let guard: DiskGuard;
let asked = 0;

beforeEach(async () => {
  world = await createWorld(now);
  withSpace = await openDiskGuard(world.client, { floorBytes: 0 });
  full = await openDiskGuard(world.client, { floorBytes: PETABYTE });
  guard = full;
});
afterEach(async () => {
  withSpace.stop();
  full.stop();
  await world.close();
});

/** The guard of the intake, which a test switches between enough and too little space. */
const disk = (): DiskGuard => ({
  ...full,
  assertSpace() {
    asked++;
    guard.assertSpace();
  },
});

const seen = (ip: string, members: object = {}) => observationLine(ip, NOW - 1_000, members);

async function intake(kafka?: Awaited<ReturnType<typeof freshKafka>>) {
  const ingest = await ingestOf(world, kafka, now, [], undefined, undefined, { disk: disk() });
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  await ingest.start();
  world.beforeClose(async () => {
    await ingest.stop();
    await app.close();
  });
  const post = async (payload: string) => {
    const response = await app.inject({ method: "POST", url: "/v1/observations", payload });
    return { status: response.statusCode, body: response.json() };
  };
  return { ingest, post };
}

test("the free space of the disk that holds the observations is known, and so is the floor", async () => {
  expect(withSpace.freeBytes()).toBeGreaterThan(1024 * 1024);
  expect(full.floorBytes()).toBe(PETABYTE);
  const byDefault = await openDiskGuard(world.client);
  expect(byDefault.floorBytes()).toBeGreaterThanOrEqual(256 * 1024 * 1024);
  byDefault.stop();
});

test("without a report of the server's free space there is no floor, and a warning", async () => {
  const elsewhere = connect({ ...world.connection, database: "default" }, "noisefloor-tests");
  const errors: unknown[] = [];
  const unknown = await openDiskGuard(elsewhere, { onUnknown: (error) => errors.push(error) });
  expect(unknown.freeBytes()).toBeUndefined();
  unknown.assertSpace();
  unknown.stop();
  expect(errors).toEqual([new StoreError("none of the server's disks holds the table observations")]);
  await elsewhere.close();
});

test("below the floor a request is rejected unread with a message, and accepted once there is space again", async () => {
  const { post } = await intake();
  expect(await post(seen("45.0.0.1"))).toEqual({ status: 503, body: { message: FULL } });
  expect(await post("garbage")).toEqual({ status: 503, body: { message: FULL } });
  expect(await readStored(world)).toEqual([]);
  guard = withSpace;
  expect(await post(seen("45.0.0.1"))).toMatchObject({ status: 202, body: { accepted: 1 } });
});

test("below the floor messages wait in the topic, their consumer remains alive, and nothing is lost", async () => {
  const kafka = await freshKafka();
  const { ingest, post } = await intake(kafka);
  const producer = await producerOf(kafka);
  onTestFinished(producer.close);
  await producer.produce(kafka.topic, [{ key: null, value: Buffer.from(seen("45.0.0.1")), headers: {} }]);
  expect(await post(seen("45.0.0.2")), "brokers keep what is published").toMatchObject({ status: 202 });
  asked = 0;
  await eventually(async () => expect(asked).toBeGreaterThan(1));
  await ingest.checks.kafka?.();
  expect(Math.max(...(await committedOffsets(kafka)))).toBeLessThan(1);
  expect(await readStored(world)).toEqual([]);
  guard = withSpace;
  await eventually(async () => expect(await readStored(world)).toMatchObject([{ ip: "45.0.0.1" }, { ip: "45.0.0.2" }]));
});
