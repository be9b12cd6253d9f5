import { openAccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { DEFAULT_PLANS } from "@noisefloor/domain/access/plan.ts";
import { QUERY_OPERATIONS, registerQuery } from "@noisefloor/query/app/app.ts";
import { localLookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import getPort from "get-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeApp, silent } from "../support/worlds/http.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../support/worlds/world.ts";

const worm = makeTag("worm", "malicious", { cves: ["CVE-2026-0001"] });
let world: World;
beforeAll(async () => {
  world = await createWorld(Date.now);
  await world.addTags([worm]);
});
afterAll(() => world.close());

const LOOKUP = "/v3/community/45.0.0.1";
const ACTIVITY = `/v3/tags/${worm.id}/activity?include_ips=true`;
const NETWORK = "/v3/noise/networks/45.0.0.0/24";
/** They count no lookups, or only when it is known how many addresses they have. */
const UNCOUNTED = [
  ACTIVITY,
  NETWORK,
  "/v3/gnql?query=port:22",
  "/v3/gnql/count?query=port:22",
  "/v3/gnql/ips?query=port:22",
  "/v3/gnql/stats?query=port:22",
  "/v1/cve/CVE-2026-0001",
];
const PATHS = [
  LOOKUP,
  LOOKUP,
  ...UNCOUNTED,
  "/v3/ip/45.0.0.1",
  "/v3/noise/ips/45.0.0.1/timeline",
  "/v3/noise/ips/45.0.0.1/tags",
  "/v3/noise/ips/45.0.0.1/interaction",
  "/v3/noise/ips/45.0.0.1/observations",
  "/v2/noise/quick/45.0.0.1",
  "/v2/noise/context/45.0.0.1",
  "/v2/riot/45.0.0.1",
];
const BULK_PATHS = ["/v3/ip", "/v2/noise/multi/quick", "/v2/noise/multi/context"];

/** The answers of an interface whose store is gone, while its tags and keys are still cached. */
async function askWithout(store: ClickHouseConnection) {
  const client = connectStore(store, "noisefloor-tests");
  const accessCache = await openAccessCache(world.client);
  const limit = await localLookupLimit("/dev/null/nowhere", Date.now, silent);
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) =>
    registerQuery(made, {
      read: reader(client, { maxSeconds: 60 }),
      readSingle: reader(client, { maxSeconds: 60 }),
      accessCache,
      limit,
      metrics,
      catalogue: world.catalogue,
      networks: world.networks,
      feeds: world.feeds,
      watches: world.watches,
      plans: DEFAULT_PLANS,
      plansUrl: "http://noisefloor.test/plans",
      publicUrl: "http://noisefloor.test",
      retentionDays: () => RETENTION_DAYS,
      now: Date.now,
    }),
  );
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  try {
    const answers = [];
    for (const path of [...PATHS, ...BULK_PATHS]) {
      const bulk = { method: "POST", body: '{"ips":["45.0.0.1"]}' };
      const answer = await fetch(url + path, BULK_PATHS.includes(path) ? bulk : {});
      const { status, headers } = answer;
      answers.push({ path, status, headers, body: await answer.text() });
    }
    return answers;
  } finally {
    await app.close();
    accessCache.stop();
    await limit.close();
    await client.close();
  }
}

test("what goes wrong unexpectedly is a 500 with the text clients know and nothing else", async () => {
  for (const { path, status, headers, body } of await askWithout({ ...world.connection, database: "no_such" })) {
    expect([path, status, body]).toEqual([path, 500, '{"message":"Encountered error while performing request"}']);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
  }
});

test("while the store is down, answers are 503 with a message and cost no lookup", async () => {
  const away = `http://127.0.0.1:${await getPort()}`;
  for (const { path, status, headers, body } of await askWithout({ ...world.connection, url: away })) {
    expect([path, status, JSON.parse(body)]).toEqual([path, 503, { message: expect.stringMatching(/again later/) }]);
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("retry-after"), "clients would sleep for it").toBeNull();
    const remaining = UNCOUNTED.includes(path) ? null : "99";
    expect([path, headers.get("ratelimit-remaining")], "the same for the first and for the last").toEqual([
      path,
      remaining,
    ]);
  }
});
