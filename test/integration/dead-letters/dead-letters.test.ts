import { runDeadLettersShow } from "@noisefloor/cli/commands/dead-letters/list-and-show.ts";
import { type RetryOptions, runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { type DeadLetter, toPayload } from "@noisefloor/ingest/dead-letters/dead-letter.ts";
import { deadLetterStore } from "@noisefloor/ingest/dead-letters/store.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import {
  listDeadLetters,
  NOTHING_RETRIED,
  RETRY_DEFAULTS,
  retryDeadLetters,
} from "../../support/commands/dead-letters.ts";
import { type HttpIntake, openHttpIntake } from "../../support/intake/http-intake.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const now = () => NOW;

let world: World;
let intake: HttpIntake;

beforeEach(async () => {
  world = await createWorld(now);
  intake = await openHttpIntake(world, now);
});
afterEach(async () => {
  await intake.close();
  await world.close();
});

const seen = (ip: string, members: object = {}) => observation(ip, NOW - 60_000, members);
const list = (options?: Parameters<typeof listDeadLetters>[1]) => listDeadLetters(world, options);
const retry = (ids: readonly string[], options?: Partial<RetryOptions>) => retryDeadLetters(world, ids, options);

test("every dead letter has an id that commands accept, also one that begins with zeros", async () => {
  await intake.post(Array.from({ length: 3_000 }, (_, number) => `{${number}`));
  const { dead_letters: deadLetters } = await list({ limit: 3_000 });
  expect(deadLetters.filter(({ id }) => !/^[0-9a-f]{16}$/.test(id))).toEqual([]);
  const zeros = deadLetters.find(({ id }) => id.startsWith("00"));
  expect(await retry([zeros?.id ?? "none of 3,000"])).toEqual({ ...NOTHING_RETRIED, rejected: 1 });
});

test("show prints a payload byte for byte, and escapes terminal control sequences", async () => {
  await intake.post([`{"source_ip":"\u001b[2J"}`, seen("45.4.0.1", { tags: ["gr\u00fc\u00df-gott"] })]);
  const { dead_letters: deadLetters } = await list();
  const [hostile, text] = [1, 2].map(
    (position) => deadLetters.find((deadLetter) => deadLetter.position === position)?.id ?? "",
  );
  const show = async (id = "", raw = false) => {
    const command = commandOver(world);
    const written: Buffer[] = [];
    await runDeadLettersShow(id, { raw, json: false }, command, (bytes) => written.push(bytes));
    return { text: command.lines.join("\n"), raw: Buffer.concat(written).toString() };
  };
  expect((await show(hostile)).text).toContain(`in hex:\n${Buffer.from('{"source_ip":"\u001b[2J"}').toString("hex")}`);
  expect((await show(hostile)).text).not.toContain("\u001b");
  expect((await show(text)).text).toMatch(/as text:\n\{.*grüß-gott/);
  expect(await show(hostile, true)).toEqual({ text: "", raw: '{"source_ip":"\u001b[2J"}' });
  await expect(show("0123456789abcdef")).rejects.toThrow(/there is no dead letter 0123456789abcdef/);
  await expect(show("7")).rejects.toThrow(/is no id of a dead letter/);
  await expect(show("0/7")).rejects.toThrow(/is no id of a dead letter/);
});

test("a record is kept whole up to 8 MiB; of a larger one the first 8 MiB and its size are kept, and a retry skips it", async () => {
  const mebibyte = 1024 * 1024;
  await intake.post([`"${"x".repeat(8 * mebibyte - 2)}"`, `"${"y".repeat(8 * mebibyte)}"`]);
  const command = commandOver(world);
  await runDeadLettersRetry([], { ...RETRY_DEFAULTS, all: true, json: false }, command);
  expect(command.lines.join("\n")).toMatch(
    /rejected {5}1\n {2}oversize +1\nskipped {6}1\n {2}1: only the first 8388608 of its 8388610 bytes are stored: its sensor has to send it again, in parts/,
  );
  const { dead_letters: deadLetters } = await list();
  const sizes = deadLetters.map(({ bytes, kept_bytes }) => [bytes, kept_bytes]).sort();
  expect(sizes).toEqual([
    [8 * mebibyte, 8 * mebibyte],
    [8 * mebibyte + 2, 8 * mebibyte],
  ]);
});

const insertsOfDeadLetters = defineQuery({
  name: "test-dead-letter-inserts",
  sql: "SELECT count() AS rows, uniqExact(_part) AS inserts FROM dead_letters",
  params: z.object({}),
  row: z.object({ rows: z.int(), inserts: z.int() }),
});

test("many large dead letters are stored in several inserts: no string could hold them all", async () => {
  await world.client.command({ query: "SYSTEM STOP MERGES dead_letters" });
  const line = Buffer.alloc(1024 * 1024, "x");
  const deadLetters = Array.from(
    { length: 40 },
    (_, index): DeadLetter => ({
      source: "file",
      ...toPayload(line),
      origin: "huge.ndjson",
      position: index + 1,
      sender: { right: "everything" },
      rejection: { reason: "not-json", detail: "" },
    }),
  );
  try {
    await deadLetterStore(world.client, { now })(deadLetters);
    expect(await run(world.client, insertsOfDeadLetters, {})).toEqual([{ rows: 40, inserts: 3 }]);
  } finally {
    // The database is used again, and a deletion would wait for its merges without end.
    await world.client.command({ query: "SYSTEM START MERGES dead_letters" });
  }
});

test.each<[string, string[], Partial<RetryOptions>, RegExp]>([
  ["no choice", [], {}, /select dead letters by ids, --reason or --all/],
  ["a source alone", [], { source: "http" }, /select dead letters by ids/],
  ["ids and a choice", ["0123456789abcdef"], { all: true }, /select dead letters by ids/],
  ["an unknown reason", [], { reason: "weather" }, /there is no reason "weather"; there are not-json/],
  ["an unknown source", [], { all: true, source: "mail" }, /there is no source "mail"; there are http, file, kafka/],
  ["an invalid time", [], { all: true, since: "yesterday" }, /--since takes a time like/],
  ["a dead letter that does not exist", ["0123456789abcdef"], {}, /there is no dead letter 0123456789abcdef/],
])("a retry of %s is an error that says what is accepted", async (_name, ids, options, message) => {
  await expect(retry(ids, options)).rejects.toThrow(message);
});
