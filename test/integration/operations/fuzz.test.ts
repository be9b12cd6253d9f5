import { createHash, randomUUID } from "node:crypto";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { REJECTION_REASONS } from "@noisefloor/domain/observation/observation.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type FuzzAnswer, formatFailure, OPERATION_HEADER } from "../../support/fuzz/check-answer.ts";
import type { DescribedOperation, FuzzRequest } from "../../support/fuzz/drafts.ts";
import { createFuzzedWorld, type FuzzedWorld, NOISE, RIOT } from "../../support/fuzz/fuzzed-world.ts";
import { fingerprint, Ledger } from "../../support/fuzz/ledger.ts";
import { answersIn, exchange } from "../../support/fuzz/raw-http.ts";
import { rawRequests, withLongHeader, withoutHost } from "../../support/fuzz/raw-requests.ts";
import { hasOwnFormat, isUntold } from "../../support/fuzz/requests.ts";
import { atVolume } from "../../support/volume.ts";

/** For other requests: FUZZ_SEED=2 npx vitest run --project integration test/integration/operations/fuzz.test.ts */
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const LEAST_REQUESTS = atVolume(700, 10_000);
/** `npm test` runs one batch in this many. */
const THINNING = atVolume(14, 1);
/** Concurrent requests. */
const AT_ONCE = 16;
/** Batches of requests for each operation: few where queries are large, many where no query runs. */
const BATCHES: Readonly<Record<string, number>> = {
  getCommunityIP: 35,
  getIP: 40,
  getIPBatch: 100,
  listCallbackIps: 140,
  getCallbackIp: 70,
  getTagActivity: 70,
  queryGNQL: 150,
  queryMetadataGNQL: 150,
  legacyQueryGNQL: 100,
  postObservations: 300,
  listTags: 140,
  ping: 140,
  legacyMetadata: 140,
};
const BATCHES_OF_OTHERS = 25;
/** Batches of requests that every operation must reject before any query. */
const REJECTED_BATCHES = 45;
const RAW_BATCHES = 90;
/**
 * Successes and errors about a request's form. Rarer statuses, such as that of a caller's limit, take more requests.
 */
const LEAST_OF_A_STATUS = atVolume(1, 10);
const LEAST_OF_A_RARE_STATUS = atVolume(0, 1);
/** A failure needs one case to look at, and not the very smallest. */
const MAX_SHRINKING_MS = 120_000;

const NOW = Date.now();
const ledger = new Ledger();
/** Records that were rejected without a word to their sender. */
let untold = 0;
let fuzzed: FuzzedWorld;
let port: number;

beforeAll(async () => {
  fuzzed = await createFuzzedWorld(() => NOW);
  await fuzzed.app.listen({ host: "127.0.0.1", port: 0 });
  port = z.object({ port: z.int() }).parse(fuzzed.app.server.address()).port;
});
afterAll(() => fuzzed.close());

const bodies = new Set<string>();

/** A body that is sent again after an error has the dead letters that it had, unless its request has another name. */
function named({ headers, payload }: FuzzRequest): FuzzRequest["headers"] {
  if (payload === undefined) return headers;
  const body = createHash("md5").update(payload).digest("hex");
  if (bodies.has(body)) return { "idempotency-key": randomUUID(), ...headers };
  bodies.add(body);
  return headers;
}

async function send(request: FuzzRequest): Promise<FuzzAnswer> {
  const { method, target, payload, from } = request;
  const { statusCode, ...answer } = await fuzzed.app.inject({
    method: z.enum(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]).parse(method),
    url: target,
    headers: { ...named(request) },
    remoteAddress: from,
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: statusCode, headers: answer.headers, text: answer.body };
}

/** Throws an error with the request and the answer if the answer is wrong. */
function assertSound(request: FuzzRequest, answer: FuzzAnswer): void {
  const fault = fuzzed.check(request, answer) ?? ledger.enter(request, answer);
  if (fault !== undefined) throw new Error(`${fault}\n  ${formatFailure(request, answer)}`);
}

/** Checks the cases of a batch concurrently. A failure has the seed and the smallest failing batch. */
async function forBatches<T>(cases: fc.Arbitrary<T>, batches: number, check: (one: T) => Promise<void>): Promise<void> {
  const batch = fc.array(cases, { minLength: 1, maxLength: AT_ONCE, size: "max" });
  await fc.assert(
    fc.asyncProperty(batch, async (all) => void (await Promise.all(all.map(check)))),
    {
      seed: SEED,
      numRuns: Math.ceil(batches / THINNING),
      interruptAfterTimeLimit: MAX_SHRINKING_MS,
      markInterruptAsFailure: true,
    },
  );
}

test("every operation answers any request as described, in JSON and without a library's wording", {
  timeout: atVolume(900_000, 2_400_000),
}, async () => {
  const check = async (request: FuzzRequest) => assertSound(request, await send(request));
  for (const operation of fuzzed.operations) {
    const [keptBefore, toldBefore] = [(await readKept()).length, ledger.rejected];
    await sendAll(operation, check);
    if (!isUntold(operation)) continue;
    untold += (await readKept()).length - keptBefore - (ledger.rejected - toldBefore);
  }
});

async function sendAll(operation: DescribedOperation, check: (request: FuzzRequest) => Promise<void>): Promise<void> {
  const requests = fuzzed.requestsFor(operation);
  await forBatches(requests, BATCHES[operation.id] ?? BATCHES_OF_OTHERS, check);
  // The description promises nothing about sensors' records.
  if (hasOwnFormat(operation)) return;
  await forBatches(
    requests.filter(({ expects }) => expects === "rejected"),
    REJECTED_BATCHES,
    check,
  );
}

/** The dead letters of requests so far. */
function readKept() {
  const deadLetters = defineQuery({
    name: "test-dead-letters",
    sql: "SELECT reason, hex(MD5(payload)) AS digest FROM dead_letters FINAL WHERE source = 'http'",
    params: z.object({}),
    row: z.object({ reason: z.string(), digest: z.string() }),
  });
  return run(fuzzed.world.client, deadLetters, {});
}

// Before the test that cuts connections: a client without the answer does not know what was rejected.
test("every record is accepted or rejected, and each rejected one is kept byte for byte", async () => {
  const kept = await readKept();
  expect(kept).toHaveLength(ledger.rejected + untold);
  const timesKept = new Map<string, number>();
  for (const { reason, digest } of kept) {
    const name = fingerprint(reason, digest);
    timesKept.set(name, (timesKept.get(name) ?? 0) + 1);
  }
  const lost = ledger.listed.filter((name) => {
    const left = (timesKept.get(name) ?? 0) - 1;
    timesKept.set(name, left);
    return left < 0;
  });
  expect(lost).toEqual([]);
  expect(ledger.accepted).toBeGreaterThan(atVolume(15, 100));
  expect(ledger.listed.length).toBeGreaterThan(atVolume(80, 500));
  // Over HTTP too many records reject the whole request, ClickHouse rejects no valid row, and batches are Kafka's.
  const elsewhere = new Set<string>(["too-many-observations", "rejected-by-store", "unreadable-batch"]);
  expect([...ledger.reasons].sort()).toEqual(REJECTION_REASONS.filter((reason) => !elsewhere.has(reason)).sort());
});

test("whatever bytes come over a connection, each answer is as described", { timeout: 300_000 }, async () => {
  const requests = rawRequests(fc.oneof(...fuzzed.operations.map(fuzzed.requestsFor)));
  await forBatches(requests, RAW_BATCHES, async ({ request, bytes, isWhole }) => {
    const answers = answersIn(await exchange(port, bytes, isWhole));
    if (isWhole && answers.length !== 1) throw new Error(`${answers.length} answers to ${bytes.toString("latin1")}`);
    for (const answer of answers) assertSound(request, answer);
  });
});

test.each([
  ["without Host", withoutHost, 400],
  ["with a header too large", withLongHeader, 431],
])("a request %s gets the error that its operation describes", async (_what, write, status) => {
  for (const operation of fuzzed.operations) {
    // An answer to a HEAD has no body, so it would look like one that was cut.
    const isPlain = ({ expects, method }: FuzzRequest) => expects !== "rejected" && method !== "HEAD";
    const plain = fuzzed.requestsFor(operation).filter(isPlain);
    for (const request of fc.sample(plain, { seed: SEED, numRuns: atVolume(3, 10) })) {
      const [answer] = answersIn(await exchange(port, write({ ...request, headers: {} }), true));
      if (answer === undefined) throw new Error("no answer");
      expect(answer.status).toBe(status);
      // The second is rejected before routing, so it has no operation.
      const headers = { ...answer.headers, [OPERATION_HEADER]: operation.id };
      assertSound({ ...request, expects: "rejected" }, { ...answer, headers });
    }
  }
});

/** Their 429 needs many concurrent large queries, which take long. */
function countsLookups(id: string): boolean {
  return QUERY_OPERATIONS.some((operation) => operation.id === id && operation.errorResponses[429] !== undefined);
}

test("every operation succeeded and rejected requests, and had all its statuses in a long run, except those that need a failure or a timeout", () => {
  const missing: string[] = [];
  for (const { id, statuses } of fuzzed.operations) {
    const met = statuses.filter((one) => one < 500 && one !== 408 && (one !== 429 || countsLookups(id)));
    for (const status of met) {
      const least = status < 206 || status === 400 ? LEAST_OF_A_STATUS : LEAST_OF_A_RARE_STATUS;
      if (ledger.of(id, status) < least) missing.push(`${id} ${status}: ${ledger.of(id, status)} of at least ${least}`);
    }
  }
  expect(missing, ledger.toString()).toEqual([]);
  expect(ledger.requests).toBeGreaterThanOrEqual(LEAST_REQUESTS);
});

test("afterwards the service answers as before, and Object.prototype is unchanged", async () => {
  const fresh = "46.1.2.3";
  const observation = { observed_at: new Date(NOW).toISOString(), sensor_id: "s", source_ip: fresh, tags: ["worm"] };
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    return { status: response.status, body: await response.json() };
  };
  const key = await fuzzed.world.addCaller("unlimited", ["community_dataset"]);
  const headers = { key };
  const stored = { method: "POST", body: JSON.stringify(observation), headers: { key: fuzzed.sensorKey } };
  expect(await ask("/v1/observations", stored)).toMatchObject({ status: 202, body: { accepted: 1, rejected: 0 } });
  for (const ip of [fresh, NOISE]) {
    const body = { ip, noise: true, riot: false, classification: "malicious", name: "unknown", message: "Success" };
    expect(await ask(`/v3/community/${ip}`, { headers })).toMatchObject({ status: 200, body });
  }
  const riot = { ip: RIOT, riot: true, name: "A resolver" };
  expect(await ask(`/v3/community/${RIOT}`, { headers })).toMatchObject({ status: 200, body: riot });
  const asked = { method: "POST", body: JSON.stringify({ ips: [fresh, "x"] }), headers };
  expect(await ask("/v3/ip", { ...asked, headers: { ...headers, "content-type": "application/json" } })).toMatchObject({
    status: 200,
    body: { data: [{ ip: fresh }], request_metadata: { ips_not_found: ["x"] } },
  });
  expect(await ask("/ping", { headers })).toMatchObject({ status: 200, body: { message: "pong", plan: "unlimited" } });
  expect(Reflect.ownKeys(Object.prototype)).not.toContain("polluted");
  expect(Object.keys(Object.prototype)).toEqual([]);
});
