import { randomBytes } from "node:crypto";
import { runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { type DeadLetter, toPayload } from "@noisefloor/ingest/dead-letters/dead-letter.ts";
import { type DeadLetterQuotaOptions, limitedDeadLetterStore } from "@noisefloor/ingest/dead-letters/quota.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp, silent } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOON = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 43_200_000;
const QUOTA = 20_000;

let world: World;
let at = NOON;

beforeEach(async () => {
  at = NOON;
  world = await createWorld(() => at);
});
afterEach(() => world.close());

const limited = (options: Partial<DeadLetterQuotaOptions> = {}) =>
  limitedDeadLetterStore(world.client, { source: "http", bytesPerDay: QUOTA, now: () => at, log: silent, ...options });

let requests = 0;
/** A request's rejected records, of a thousand bytes each. */
function rejected(records: number, keyId?: string): DeadLetter[] {
  const origin = `request-${requests++}`;
  return Array.from({ length: records }, (_, index) => ({
    source: "http",
    ...toPayload(randomBytes(1_000)),
    origin,
    position: index + 1,
    sender: { right: "shared-datasets", keyId },
    rejection: { reason: index % 2 === 0 ? "not-json" : "oversize", detail: "why" },
  }));
}

const storedDeadLetters = defineQuery({
  name: "test-stored-dead-letters",
  sql: `SELECT key_id AS keyId, toUInt32(count()) AS count, toUInt32(sum(length(payload))) AS bytes,
      arraySort(groupArrayIf(detail, detail != 'why')) AS notes
    FROM dead_letters FINAL GROUP BY keyId ORDER BY keyId`,
  params: z.object({}),
  row: z.object({ keyId: z.string(), count: z.int(), bytes: z.int(), notes: z.array(z.string()) }),
});
const kept = () => run(world.client, storedDeadLetters, {});

test("beyond a key's daily quota only a sample with counts is kept; other keys have quotas of their own", async () => {
  const counted = { bytes: 0, beyond: 0 };
  const deadLetters = limited({
    onStored(bytes) {
      counted.bytes += bytes;
    },
    onBeyondQuota(records) {
      counted.beyond += records;
    },
  });
  // Concurrent calls share the quota.
  await Promise.all(Array.from({ length: 10 }, () => deadLetters.store(rejected(10, "greedy"))));
  await deadLetters.store(rejected(3, "modest"));
  await deadLetters.store(rejected(1));
  await deadLetters.close();
  const [none, greedy, modest] = await kept();
  expect(none).toMatchObject({ keyId: "", count: 1, notes: [] });
  expect(modest).toMatchObject({ keyId: "modest", count: 3, notes: [] });
  // 18 dead letters of 1,103 bytes fit into the quota, and one is a sample of the rest.
  expect(greedy).toMatchObject({ keyId: "greedy", count: 19 });
  expect(greedy?.notes).toEqual([
    expect.stringMatching(
      /^sample of 82 records with 80.1 KiB since .* \(not-json \d+, oversize \d+\), beyond the quota of 19.5 KiB a day/,
    ),
  ]);
  expect(counted).toEqual({ bytes: 22 * 1_103, beyond: 82 });
});

test("a restart does not reset the quota, the next UTC day does", async () => {
  const before = limited();
  await before.store(rejected(18));
  const after = limited();
  await after.store(rejected(18));
  await after.close();
  expect(await kept()).toMatchObject([{ count: 19, notes: [expect.stringContaining("sample of 18 records")] }]);
  at += 86_400_000 / 2;
  await after.store(rejected(18));
  await before.store(rejected(1));
  await after.close();
  await before.close();
  expect(await kept()).toMatchObject([{ count: 38 }]);
});

test("counts that cannot be written wait for the store and are written together", async () => {
  let isFull = false;
  const assertSpace = () => {
    if (isFull) throw new Error("full");
  };
  const deadLetters = limited({ assertSpace, flushMs: 20, bytesPerDay: 0 });
  isFull = true;
  await deadLetters.store(rejected(5));
  await deadLetters.close();
  expect(await kept()).toEqual([]);
  isFull = false;
  await deadLetters.store(rejected(2));
  await deadLetters.close();
  expect(await kept()).toMatchObject([{ count: 1, notes: [expect.stringContaining("sample of 7 records")] }]);
});

test("endless garbage of a sender cannot fill the disk, and each record is still reported to the sender", async () => {
  const metrics = createMetrics();
  const mebibyte = 1024 * 1024;
  const options = { deadLetterBytesPerDay: mebibyte };
  const ingest = await ingestOf(world, undefined, () => at, [], metrics, undefined, options);
  const app = await makeApp(INGEST_OPERATIONS, ingest.register);
  const post = async (payload: Buffer | string) =>
    (await app.inject({ method: "POST", url: "/v1/observations", payload })).json();
  const known = { observed_at: new Date(at - 1_000).toISOString(), sensor_id: "s", source_ip: "45.0.0.1" };
  for (let request = 0; request < 10; request++) {
    const garbage = Array.from({ length: 30 }, () => `"${randomBytes(50_000).toString("base64")}"`);
    const late = JSON.stringify({ ...known, tags: ["later"] });
    expect(await post([...garbage, JSON.stringify(known), late].join("\n"))).toMatchObject({
      accepted: 1,
      rejected: 31,
      reasons: { "unknown-tag": 1 },
    });
  }
  await ingest.stop();
  await app.close();
  const [stored] = await kept();
  expect(stored?.bytes).toBeLessThan(mebibyte + 4096);
  expect(stored?.notes.some((note) => note.startsWith("sample of "))).toBe(true);
  expect(await metrics.text()).toMatch(/noisefloor_dead_letters_not_kept_total\{source="http"\} 2\d\d/);
  // The sample is cut, so the retry skips it; those that were kept whole are retried.
  await world.addTags([makeTag("later", "unknown")]);
  const command = commandOver(world);
  await runDeadLettersRetry([], { all: true, dryRun: true, overridePermission: false, json: true }, command);
  expect(JSON.parse(command.lines.join(""))).toMatchObject({ skipped: 1 });
});
