import { setTimeout as sleep } from "node:timers/promises";
import { runDeadLettersList, runDeadLettersShow } from "@noisefloor/cli/commands/dead-letters.ts";
import { type RetryOptions, runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters-retry.ts";
import { FALLBACK_ID_HEADER } from "@noisefloor/ingest/record-id.ts";
import type { KafkaSettings } from "@noisefloor/ingest/service.ts";
import { checkDeadLetterRetention } from "@noisefloor/ingest/topics.ts";
import { readTopicConfig } from "@noisefloor/kafka/kafkajs-admin.ts";
import type { StreamProducer } from "@noisefloor/kafka/source.ts";
import { readTopic as readWholeTopic } from "@noisefloor/kafka/topic-reader.ts";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { readStored } from "../../support/oracle/stored-observations.ts";
import { commandOver, type RunCommand } from "../../support/worlds/commands.ts";
import {
  type ConsumingWorld,
  committedOffsets,
  groupsOn,
  ingestOf,
  openConsumingWorld,
  publishGzipped,
  readTopic,
} from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";
import { makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

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

const listSchema = z.object({
  counts: z.array(z.object({ home: z.string(), reason: z.string(), state: z.string(), letters: z.int() })),
  letters: z.array(z.object({ id: z.string(), reason: z.string(), origin: z.string(), position: z.int() })),
});

async function list(options: Partial<Parameters<typeof runDeadLettersList>[0]> = {}) {
  const command = commandOver(world, kafka);
  await runDeadLettersList({ limit: 20, includeDone: false, json: true, ...options }, command);
  return listSchema.parse(JSON.parse(command.lines.join("")));
}

async function retry(ids: readonly string[], options: Partial<RetryOptions> = {}) {
  const command = commandOver(world, kafka);
  const defaults = { all: false, dryRun: false, overridePermission: false, json: false };
  await runDeadLettersRetry(ids, { ...defaults, ...options }, command);
  return command.lines.join("\n");
}

test("what lacked a tag is stored by a retry under its place in the topic, and counts once whatever comes again", async () => {
  const tagged = { tags: ["new-tag"] };
  await publish(seen("45.1.0.1"), `${seen("45.1.0.2", tagged)}\n{broken\n${seen("45.1.0.3", tagged)}`);
  await readTopic(kafka, kafka.deadLetterTopic, 3);
  const before = await list();
  expect(before.counts).toEqual([
    expect.objectContaining({ home: "topic", reason: "not-json", state: "open", letters: 1 }),
    expect.objectContaining({ home: "topic", reason: "unknown-tag", state: "open", letters: 2 }),
  ]);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true, dryRun: true })).toMatch(/stored {7}2\nrefused {6}1\n/);
  expect(await stored()).toHaveLength(1);
  expect(await retry([], { reason: "unknown-tag" })).toMatch(/stored {7}2\nrefused {6}0\n/);
  const after = await stored();
  const expected = before.letters
    .filter(({ reason }) => reason === "unknown-tag")
    .map(({ origin, position }) => `kafka:${origin}/${position}`);
  expect(after.slice(1).map(({ id }) => id)).toEqual(expected.sort());

  expect(await retry([], { all: true })).toMatch(/stored {7}0\nrefused {6}1\n/);
  expect((await list()).counts).toMatchObject([{ reason: "not-json", letters: 1 }]);
  expect((await list({ includeDone: true })).counts).toMatchObject([
    { reason: "not-json", state: "open", letters: 1 },
    { reason: "unknown-tag", state: "done", letters: 2 },
  ]);

  const again = { ...kafka, groupId: `${kafka.groupId}-again` };
  const other = await ingestOf(world, again, now);
  await other.start();
  await eventually(async () => expect((await committedOffsets(again)).filter((offset) => offset > 0)).toEqual([2]));
  await other.stop();
  expect(await stored(), "the same messages to another group are the same observations").toEqual(after);
  expect(
    (await groupsOn(kafka)).filter((group) => group.includes("-once-")),
    "nothing is left behind",
  ).toEqual([]);
});

test("what a request named is stored by a retry under that name, so that its message may come again", async () => {
  const name = "http:3f0c5a9b-0d3e-4c1a-9f53-2b7c8e1d4a60/0";
  const headers = { [FALLBACK_ID_HEADER]: name };
  const message = { key: null, value: Buffer.from(seen("45.1.3.1", { tags: ["new-tag"] })), headers };
  await producer.produce(kafka.topic, [message]);
  await readTopic(kafka, kafka.deadLetterTopic, 1);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([], { all: true })).toMatch(/stored {7}1\n/);
  const expected = [{ id: `${name}/0`, ip: "45.1.3.1", room: "global/" }];
  expect(await stored()).toEqual(expected);
  await producer.produce(kafka.topic, [message]);
  await eventually(async () => expect(await committed()).toBe(2));
  expect(await stored()).toEqual(expected);
});

test("letters of the topic are shown and retried one by one", async () => {
  await publish(
    seen("45.1.1.1", { tags: ["new-tag"] }),
    seen("45.1.1.2", { tags: ["new-tag"] }),
    Buffer.from([0xff, 0x00]),
  );
  await readTopic(kafka, kafka.deadLetterTopic, 3);
  const { letters } = await list();
  const [first, , bytes] = [...letters].sort((one, other) => (one.id < other.id ? -1 : 1)).map(({ id }) => id);
  const command = commandOver(world, kafka);
  const written: Buffer[] = [];
  await runDeadLettersShow(bytes ?? "", { raw: true, json: false }, command, (part) => written.push(part));
  expect(Buffer.concat(written)).toEqual(Buffer.from([0xff, 0x00]));
  await runDeadLettersShow(bytes ?? "", { raw: false, json: false }, command, () => {});
  expect(command.lines.join("\n")).toMatch(/header {4}noisefloor-reason: not-json[\s\S]*in hex:\nff00$/);
  await world.addTags([makeTag("new-tag", "suspicious")]);
  expect(await retry([first ?? ""])).toContain(`${first}  stored\n`);
  expect(await stored()).toHaveLength(1);
  expect(await retry([first ?? ""])).toContain(`${first}  was stored by an earlier retry\n`);
  await expect(retry(["0/99999"])).rejects.toThrow(/there is no dead letter 0\/99999/);
});

test("letters in the topic live as long as those of the table; of a topic that loses them earlier a start warns", async () => {
  const read = (topic: string) => readTopicConfig(kafka.connection, topic, "retention.ms", silent);
  expect(await read(kafka.deadLetterTopic)).toBe(String(RETENTION_DAYS * 86_400_000));
  const warnings: unknown[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void warnings.push(JSON.parse(line)) });
  await checkDeadLetterRetention(kafka, RETENTION_DAYS, log);
  // Nobody said of it how long, so it is the broker's seven days.
  const older = { ...kafka, deadLetterTopic: kafka.topic };
  await checkDeadLetterRetention(older, 7, log);
  await checkDeadLetterRetention({ ...kafka, deadLetterTopic: "not-there" }, RETENTION_DAYS, log);
  expect(warnings).toEqual([]);
  await checkDeadLetterRetention(older, RETENTION_DAYS, log);
  expect(warnings).toMatchObject([{ topic: kafka.topic, msg: expect.stringMatching(/after 7 days, before the 100 /) }]);
});

test("a letter that was cut for its size is told so and left alone", async () => {
  const huge = Buffer.alloc(9 * 1024 * 1024, "x");
  await publishGzipped(kafka, [huge]);
  await readTopic(kafka, kafka.deadLetterTopic, 1);
  expect(await retry([], { all: true })).toMatch(
    /not tried {4}1\n {2}1: of its 9437184 bytes only the first 8388608 were kept: its sensor has to send it again/,
  );
});

test("messages that others put into the topic, and a topic made anew, disturb nothing", async () => {
  await producer.produce(kafka.deadLetterTopic, [{ key: null, value: Buffer.from(seen("45.1.2.1")) }]);
  expect((await list()).counts).toMatchObject([{ reason: "unknown", letters: 1 }]);
  expect(await retry([], { all: true })).toMatch(/not tried {4}1\n {2}1: it carries none of Noisefloor's headers/);
  // Of a message with this offset in an earlier topic of this name.
  for (const partition of [0, 1]) {
    await world.client.insert({
      table: "dead_letter_verdicts",
      values: [
        {
          topic: kafka.deadLetterTopic,
          letter: `${partition}/0`,
          written_at: "2026-01-01 00:00:00.000",
          judged_at: "2026-01-02 00:00:00.000",
          is_done: true,
        },
      ],
      format: "JSONEachRow",
    });
  }
  expect((await list()).counts).toMatchObject([{ reason: "unknown", state: "open" }]);
});

test("a topic that was never made holds no letters; brokers that are away are told in a sentence", async () => {
  const missing = { ...kafka, deadLetterTopic: `${kafka.deadLetterTopic}-never-made` };
  const command = commandOver(world, missing);
  await runDeadLettersList({ limit: 20, includeDone: false, json: true }, command);
  expect(JSON.parse(command.lines.join(""))).toEqual({
    is_whole: true,
    topic_read: true,
    counts: [],
    letters: [],
  });
  const nowhere = { ...kafka, connection: { ...kafka.connection, brokers: ["127.0.0.1:1"] } };
  await expect(
    runDeadLettersList({ limit: 20, includeDone: false, json: true }, commandOver(world, nowhere)),
  ).rejects.toThrow(/the topic dead-.* cannot be read from 127.0.0.1:1/);
});

test("for a store that takes its time with letters the brokers are not blamed", async () => {
  await publish("{broken");
  await readTopic(kafka, kafka.deadLetterTopic, 1);
  let handled = 0;
  const handle = async () => {
    await sleep(5_000);
    handled++;
  };
  const ask = { topic: kafka.deadLetterTopic, groupPrefix: kafka.groupId, stallMs: 4_000, handle };
  expect(await readWholeTopic(kafka.connection, ask, silent)).toBe(true);
  expect(handled).toBe(1);
});

test("a list of many letters can be stopped in the middle and leaves nothing behind", async () => {
  const stop = new AbortController();
  await publish(...Array.from({ length: 500 }, () => "{broken"));
  await readTopic(kafka, kafka.deadLetterTopic, 500);
  const [letter] = (await list({ limit: 1 })).letters;
  stop.abort();
  const stopped = async (run: (command: RunCommand) => Promise<void>) => {
    const command = commandOver(world, kafka, stop.signal);
    await run(command);
    expect(process.exitCode).toBe(130);
    process.exitCode = 0;
    return command.lines;
  };
  const options = { limit: 20, includeDone: false };
  expect(await stopped((command) => runDeadLettersList({ ...options, json: false }, command))).toEqual([
    "Stopped before the topic was read to its end; what follows is what was read.",
    "none",
  ]);
  const [answer = ""] = await stopped((command) => runDeadLettersList({ ...options, json: true }, command));
  expect(JSON.parse(answer)).toEqual({ is_whole: false, topic_read: true, counts: [], letters: [] });
  const show = (command: RunCommand) =>
    runDeadLettersShow(letter?.id ?? "", { raw: false, json: false }, command, () => {});
  expect(await stopped(show), "which does not say that there is none").toEqual([]);
  expect((await groupsOn(kafka)).filter((group) => group.includes("-once-"))).toEqual([]);
  expect((await list({ limit: 7 })).letters).toHaveLength(7);
  expect((await list()).counts).toMatchObject([{ letters: 500 }]);
});
