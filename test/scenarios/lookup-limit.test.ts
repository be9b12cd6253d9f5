import { randomInt, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import getPort from "get-port";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { provideRedis } from "../support/servers/redis.ts";
import { type CommandLine, openCommandLine, type Started } from "../support/worlds/command-line.ts";
import { withoutCompiling } from "../support/worlds/databases.ts";
import { runInProcess } from "../support/worlds/in-process.ts";

let commandLine: CommandLine;

beforeEach(async () => {
  commandLine = await openCommandLine();
});
afterEach(() => commandLine.close());

/** An address that was observed, and one that was not. */
const [KNOWN, UNKNOWN] = ["45.0.0.9", "45.0.0.10"];

/** Makes the lookups `from` to `to` concurrently and without a key, half of them hits. All must be answered. */
async function lookUp(from: number, to: number, urlOf: (lookup: number) => string, headers = {}): Promise<void> {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const remaining = await Promise.all(
    numbers.map(async (lookup) => {
      const isKnown = lookup % 4 < 2;
      const response = await fetch(`${urlOf(lookup)}/v3/community/${isKnown ? KNOWN : UNKNOWN}`, { headers });
      expect([lookup, response.status]).toEqual([lookup, isKnown ? 200 : 404]);
      await response.arrayBuffer();
      return Number(response.headers.get("ratelimit-remaining"));
    }),
  );
  // Whichever of them came first.
  expect(remaining.sort((one, other) => other - one)).toEqual(numbers.map((lookup) => 100 - lookup));
}

async function expectLimitReached(url: string, plansUrl: string, headers = {}): Promise<void> {
  const response = await fetch(`${url}/v3/community/${KNOWN}`, { headers });
  expect(response.status).toBe(429);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  expect(response.headers.get("retry-after"), "clients would sleep for it").toBeNull();
  expect(await response.text()).toBe(
    JSON.stringify({
      plan: "unauthenticated",
      "rate-limit": "100-lookups/day",
      plan_url: plansUrl,
      message: `You have hit your daily rate limit of 100 requests per day. See ${plansUrl} for plans with more.`,
    }),
  );
}

/** Counts are per UTC day: over midnight the test would see two. */
async function awayFromMidnight(): Promise<void> {
  await eventually(async () => expect(Date.now() % 86_400_000).toBeLessThan(86_400_000 - 60_000), 70_000);
}

test("without a key 100 lookups a day are answered, also when the process is restarted in between", async () => {
  await awayFromMidnight();
  const env = { HTTP_PORT: String(await getPort()) };
  const first = await commandLine.startService([], env);
  const observation = { observed_at: new Date().toISOString(), sensor_id: "s", source_ip: KNOWN };
  const stored = await fetch(`${first.url}/v1/observations`, { method: "POST", body: JSON.stringify(observation) });
  expect(stored.status).toBe(202);
  await lookUp(1, 60, () => first.url);
  first.child.kill("SIGTERM");
  expect(await first.finished).toMatchObject({ code: 0, stderr: "" });
  const { url } = await commandLine.startService([], env);
  await lookUp(61, 100, () => url);
  for (let again = 0; again < 3; again++) await expectLimitReached(url, `${url}/plans`);
  const invalid = await fetch(`${url}/v3/community/10.0.0.1`);
  expect(invalid.status, "the address is validated before the limit").toBe(400);
});

test("two processes over one Redis answer 100 lookups together, also when one of them is restarted", async () => {
  await awayFromMidnight();
  const redis = await provideRedis(process.env);
  const { url: clickhouseUrl, username, password } = inject("clickhouse");
  const database = `test_${randomUUID().replaceAll("-", "")}`;
  // Counts are per client address, and a configured Redis may have today's earlier lookups of this machine.
  const client = `198.18.${randomInt(256)}.${randomInt(256)}`;
  const headers = { "x-forwarded-for": client };
  const plansUrl = "https://noisefloor.example/plans";
  const shared = {
    CLICKHOUSE_URL: withoutCompiling(clickhouseUrl),
    CLICKHOUSE_USER: username,
    CLICKHOUSE_PASSWORD: password,
    CLICKHOUSE_DATABASE: database,
    REDIS_URL: redis.at,
    PLANS_URL: plansUrl,
    TRUSTED_PROXIES: "127.0.0.1",
  };
  const startQuery = async (): Promise<Started & { url: string }> => {
    const port = String(await getPort());
    const started = commandLine.run(["query"], { ...shared, HTTP_PORT: port });
    const url = `http://localhost:${port}`;
    await eventually(async () => expect((await fetch(`${url}/v3/tags`)).status).toBe(200), 60_000);
    return { ...started, url };
  };
  try {
    const list = join(commandLine.dataDir, "known.json");
    await writeFile(list, JSON.stringify({ name: "Known", type: "cidr", list: [`${KNOWN}/32`] }));
    for (const command of [["migrate"], ["benign", "import", list]]) {
      expect(await runInProcess(command, shared)).toMatchObject({ code: 0 });
    }
    const [one, other] = [await startQuery(), await startQuery()];
    await lookUp(1, 60, (lookup) => (lookup % 2 === 0 ? one.url : other.url), headers);
    other.child.kill("SIGTERM");
    expect(await other.finished).toMatchObject({ code: 0, stderr: "" });
    const again = await startQuery();
    await lookUp(61, 100, (lookup) => (lookup % 2 === 0 ? one.url : again.url), headers);
    for (const { url } of [one, again, one]) await expectLimitReached(url, plansUrl, headers);
    one.child.kill("SIGTERM");
    expect(await one.finished).toMatchObject({ code: 0, stderr: "" });
  } finally {
    await commandLine.close();
    const clickhouse = connect({ ...inject("clickhouse") }, "noisefloor-tests");
    await clickhouse.command({ query: "DROP DATABASE IF EXISTS {database:Identifier}", query_params: { database } });
    await clickhouse.close();
    await redis.stop();
  }
});
