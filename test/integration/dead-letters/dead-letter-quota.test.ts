import { randomBytes } from "node:crypto";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { type DeadLetter, toPayload } from "@noisefloor/ingest/dead-letters/dead-letter.ts";
import { type DeadLetterQuotaOptions, limitedDeadLetterStore } from "@noisefloor/ingest/dead-letters/quota.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp, silent } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

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
  sql: `SELECT key_id AS keyId, toUInt32(count()) AS count, toUInt32(sum(length(payload))) AS bytes
    FROM dead_letters FINAL GROUP BY keyId ORDER BY keyId`,
  params: z.object({}),
  row: z.object({ keyId: z.string(), count: z.int(), bytes: z.int() }),
});
const kept = () => run(world.client, storedDeadLetters, {});

test("what is beyond a key's daily quota is only counted; other keys have quotas of their own", async () => {
  const metrics = createMetrics();
  const warnings: string[] = [];
  const log = pino({}, { write: (line: string) => void warnings.push(line) });
  const store = limited({ metrics, log });
  // Concurrent calls share the quota.
  await Promise.all(Array.from({ length: 10 }, () => store(rejected(10, "greedy"))));
  await store(rejected(3, "modest"));
  await store(rejected(1));
  // 18 dead letters of 1,103 bytes fit into the quota.
  expect(await kept()).toMatchObject([
    { keyId: "", count: 1 },
    { keyId: "greedy", count: 18 },
    { keyId: "modest", count: 3 },
  ]);
  const text = await metrics.text();
  expect(text).toContain(`noisefloor_dead_letter_bytes_total{source="http"} ${22 * 1_103}`);
  expect(text).toContain('noisefloor_dead_letters_not_kept_total{source="http"} 82');
  expect(warnings.map((line) => JSON.parse(line))).toMatchObject([{ source: "http", key: "greedy" }]);
});

test("a restart does not reset the quota, the next UTC day does", async () => {
  await limited()(rejected(18));
  const after = limited();
  await after(rejected(18));
  expect(await kept()).toMatchObject([{ count: 18 }]);
  at += 86_400_000 / 2;
  await after(rejected(18));
  expect(await kept()).toMatchObject([{ count: 36 }]);
});

test("dead letters that could not be stored take nothing of the quota", async () => {
  let isFull = true;
  const assertSpace = () => {
    if (isFull) throw new Error("full");
  };
  const store = limited({ assertSpace });
  await expect(store(rejected(18))).rejects.toThrow("full");
  isFull = false;
  await store(rejected(18));
  expect(await kept()).toMatchObject([{ count: 18 }]);
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
  expect(stored?.bytes).toBeLessThan(mebibyte);
  expect(await metrics.text()).toMatch(/noisefloor_dead_letters_not_kept_total\{source="http"\} 2\d\d/);
});
