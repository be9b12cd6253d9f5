import { runDeadLettersList, runDeadLettersShow } from "@noisefloor/cli/commands/dead-letters/list-and-show.ts";
import { type RetryOptions, runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { FALLBACK_ID_HEADER } from "@noisefloor/ingest/record-id.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import type { StreamProducer } from "@noisefloor/kafka/port/port.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listDeadLetters } from "../../support/commands/dead-letters.ts";
import { eventually } from "../../support/eventually.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { commandOver, type RunCommand } from "../../support/worlds/commands.ts";
import {
  type ConsumingWorld,
  committedOffsets,
  ingestOf,
  openConsumingWorld,
  publishGzipped,
} from "../../support/worlds/consuming-world.ts";
import { kafkaDeadLettersOf } from "../../support/worlds/dead-letters.ts";
import { makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;

let opened: ConsumingWorld;
let world: World;
let kafka: KafkaSettings;
let producer: StreamProducer;

beforeEach(async () => {
  opened = await openConsumingWorld(now);
  ({ world, kafka, producer } = opened);
});
afterEach(() => opened.close());

const stored = () => readStored(world);
const committed = async () => (await committedOffsets(kafka)).reduce((sum, offset) => sum + Math.max(0, offset), 0);

const seen = (ip: string, members: object = {}) =>
  JSON.stringify({ observed_at: new Date(NOW - 60_000).toISOString(), sensor_id: "s", source_ip: ip, ...members });
const publish = (...payloads: (string | Buffer)[]) =>
  producer.produce(
    kafka.topic,
    payloads.map((payload) => ({ key: Buffer.from("same partition"), value: Buffer.from(payload) })),
  );

const list = (options?: Parameters<typeof listDeadLetters>[1]) => listDeadLetters(world, options);

async function retry(ids: readonly string[], options: Partial<RetryOptions> = {}) {
  const command = commandOver(world);
  const defaults = { all: false, dryRun: false, overridePermission: false, json: false };
  await runDeadLettersRetry(ids, { ...defaults, ...options }, command);
  return command.lines.join("\n");
}

test("a retry stores records that lacked a tag under their place in the topic, and a redelivery counts nothing twice", async () => {
  const tagged = { tags: ["new-tag"] };
  await publish(seen("45.1.0.1"), `${seen("45.1.0.2", tagged)}\n{broken\n${seen("45.1.0.3", tagged)}`);
  await kafkaDeadLettersOf(world, 3);
  const before = await list();
  expect(before.counts).toEqual([
    { source: "kafka", reason: "not-json", state: "open", count: 1 },
    { source: "kafka", reason: "unknown-tag", state: "open", count: 2 },
  ]);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true, dryRun: true })).toMatch(/stored {7}2\nrejected {5}1\n/);
  expect(await stored()).toHaveLength(1);
  expect(await retry([], { reason: "unknown-tag" })).toMatch(/stored {7}2\nrejected {5}0\n/);
  const after = await stored();
  const expected = before.dead_letters
    .filter(({ reason }) => reason === "unknown-tag")
    .map(({ origin, position }) => `kafka:${origin}/${position}`);
  expect(after.slice(1).map(({ id }) => id)).toEqual(expected.sort());

  expect(await retry([], { all: true })).toMatch(/stored {7}0\nrejected {5}1\n/);
  expect((await list()).counts).toMatchObject([{ reason: "not-json", count: 1 }]);
  expect((await list({ includeDone: true })).counts).toMatchObject([
    { reason: "not-json", state: "open", count: 1 },
    { reason: "unknown-tag", state: "done", count: 2 },
  ]);

  const again = { ...kafka, groupId: `${kafka.groupId}-again` };
  const other = await ingestOf(world, again, now);
  await other.start();
  await eventually(async () => expect((await committedOffsets(again)).filter((offset) => offset > 0)).toEqual([2]));
  await other.stop();
  expect(await stored(), "the same messages to another group are the same observations").toEqual(after);
  const rejectedAgain = { source: "kafka", reason: "not-json", state: "open", count: 1 };
  expect((await list()).counts, "and the same dead letters").toEqual([rejectedAgain]);
});

test("a retry stores a record under the id from its message's header, so that the message may be delivered again", async () => {
  const name = "http:3f0c5a9b-0d3e-4c1a-9f53-2b7c8e1d4a60/0";
  const headers = { [FALLBACK_ID_HEADER]: name };
  const message = { key: null, value: Buffer.from(seen("45.1.3.1", { tags: ["new-tag"] })), headers };
  await producer.produce(kafka.topic, [message]);
  await kafkaDeadLettersOf(world, 1);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true })).toMatch(/stored {7}1\n/);
  const expected = [{ id: `${name}/0`, ip: "45.1.3.1", scope: "global/" }];
  expect(await stored()).toEqual(expected);
  await producer.produce(kafka.topic, [message]);
  await eventually(async () => expect(await committed()).toBe(2));
  expect(await stored()).toEqual(expected);
});

test("dead letters of messages are shown and retried one by one", async () => {
  await publish(
    seen("45.1.1.1", { tags: ["new-tag"] }),
    seen("45.1.1.2", { tags: ["new-tag"] }),
    Buffer.from([0xff, 0x00]),
  );
  await kafkaDeadLettersOf(world, 3);
  const { dead_letters: deadLetters } = await list();
  const [first, , bytes] = [...deadLetters]
    .sort((one, other) => (one.origin < other.origin ? -1 : 1))
    .map(({ id }) => id);
  const command = commandOver(world);
  const written: Buffer[] = [];
  await runDeadLettersShow(bytes ?? "", { raw: true, json: false }, command, (part) => written.push(part));
  expect(Buffer.concat(written)).toEqual(Buffer.from([0xff, 0x00]));
  await runDeadLettersShow(bytes ?? "", { raw: false, json: false }, command, () => {});
  expect(command.lines.join("\n")).toMatch(/key {7}14 bytes: same partition\npayload {3}2 bytes, in hex:\nff00$/);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([first ?? ""])).toContain(`${first}  stored\n`);
  expect(await stored()).toHaveLength(1);
  expect(await retry([first ?? ""])).toContain(`${first}  already stored by an earlier retry\n`);
  await expect(retry(["0123456789abcdef"])).rejects.toThrow(/there is no dead letter 0123456789abcdef/);
});

test("a message's key and headers are shown with its dead letter, with control sequences escaped", async () => {
  const headers = { trace: "\u001b[2Jabc", "noisefloor-fallback-id": "nonsense" };
  await producer.produce(kafka.topic, [{ key: Buffer.from([0x1b, 0xff]), value: Buffer.from("{broken"), headers }]);
  await kafkaDeadLettersOf(world, 1);
  const [deadLetter] = (await list()).dead_letters;
  const command = commandOver(world);
  await runDeadLettersShow(deadLetter?.id ?? "", { raw: false, json: false }, command, () => {});
  const text = command.lines.join("\n");
  expect(text).toContain("key       2 bytes: 1bff (in hex)\n");
  expect(text).toContain("header    trace: \\u{1b}[2Jabc\n");
  await runDeadLettersShow(deadLetter?.id ?? "", { raw: false, json: true }, command, () => {});
  expect(JSON.parse(command.lines.at(-1) ?? "")).toMatchObject({
    source: "kafka",
    bytes: 7,
    kept_bytes: 7,
    kafka: {
      topic: kafka.topic,
      partition: expect.any(Number),
      offset: "0",
      key_base64: "G/8=",
      key_bytes: 2,
      headers,
    },
    payload_base64: Buffer.from("{broken").toString("base64"),
  });
});

test("a dead letter that was cut for its size is skipped and reported", async () => {
  const huge = Buffer.alloc(9 * 1024 * 1024, "x");
  await publishGzipped(kafka, [huge]);
  await kafkaDeadLettersOf(world, 1);
  expect(await retry([], { all: true })).toMatch(
    /skipped {6}1\n {2}1: only the first 8388608 of its 9437184 bytes are stored: its sensor has to send it again/,
  );
});

test("a list of many dead letters can be interrupted", async () => {
  await publish(...Array.from({ length: 500 }, () => "{broken"));
  await kafkaDeadLettersOf(world, 500);
  const stop = new AbortController();
  stop.abort();
  const interrupted = async (run: (command: RunCommand) => Promise<void>) => {
    const command = commandOver(world, undefined, stop.signal);
    await run(command);
    expect(process.exitCode).toBe(130);
    process.exitCode = undefined;
    return command.lines;
  };
  const options = { limit: 20, includeDone: false };
  expect(await interrupted((command) => runDeadLettersList({ ...options, json: false }, command))).toEqual([
    "Interrupted: the list is incomplete.",
    "none",
  ]);
  const [answer = ""] = await interrupted((command) => runDeadLettersList({ ...options, json: true }, command));
  expect(JSON.parse(answer)).toEqual({ is_complete: false, counts: [], dead_letters: [] });
  expect((await list({ limit: 7 })).dead_letters).toHaveLength(7);
  expect((await list()).counts).toMatchObject([{ count: 500 }]);
});
