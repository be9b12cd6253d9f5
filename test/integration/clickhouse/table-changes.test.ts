import { openAccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import { watchTableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import { openTagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { startSightingsCache } from "@noisefloor/query/address-index/sightings-cache.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addressOf, observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

let world: World;
beforeEach(async () => {
  world = await createWorld(Date.now);
});
afterEach(() => world.close());

/** Counts the queries that a client sends, by their names. */
function countQueries({ client }: World): Map<string, number> {
  const counts = new Map<string, number>();
  const send = client.query.bind(client);
  client.query = (params) => {
    const name = String(params.clickhouse_settings?.log_comment);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return send(params);
  };
  return counts;
}

const POLLS = { intervalMs: 100 };
const SHARED_FOR_MS = 80;
const totalOf = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((sum, count) => sum + count, 0);

test("while nothing changes, all caches together ask one small question; a change then shows in each of them", async () => {
  const changes = watchTableChanges(world.client, { sharedForMs: SHARED_FOR_MS, settleMs: 200 });
  const options = { ...POLLS, changes };
  const catalogue = await openTagCatalogue(world.client, options);
  const access = await openAccessCache(world.client, options);
  const stop = () => {
    for (const cache of [catalogue, access]) cache.stop();
  };
  const counts = countQueries(world);
  await eventually(async () => {
    counts.clear();
    const start = performance.now();
    await eventually(async () => expect(totalOf(counts)).toBeGreaterThanOrEqual(5));
    expect([...counts.keys()], "only the question whether tables have changed").toEqual(["parts-versions"]);
    expect(performance.now() - start, "five, shared by all caches").toBeGreaterThan(4 * SHARED_FOR_MS);
  });
  expect(Math.max(catalogue.ageSeconds(), access.ageSeconds())).toBeLessThan(5);

  const tag = makeTag("made-meanwhile", "malicious");
  await tagRecords.write(world.client, [tag], Date.now());
  await eventually(async () => expect(catalogue.resolve("made-meanwhile")?.id).toBe(tag.id));
  const key = await world.addCaller("standard");
  await eventually(async () => expect(access.callerOf(key)?.plan).toBe("standard"));
  stop();
});

test("a user whom the server shows no parts polls each cache by itself", async () => {
  const elsewhere = connect({ ...world.connection, database: "default" }, "noisefloor-tests");
  const readQuiet = watchTableChanges(elsewhere, { sharedForMs: 0, settleMs: 0 })(["tags"]);
  expect((await readQuiet()).isQuiet).toBe(false);
  expect((await readQuiet()).isQuiet).toBe(false);
  await elsewhere.close();
});

test("an address that another process stores after hours of quiet shows in the index", async () => {
  const index = startSightingsCache(world.client, {
    limit: 1_000,
    retentionDays: () => 100,
    now: Date.now,
    ...POLLS,
    changes: watchTableChanges(world.client, { sharedForMs: 50, settleMs: 200 }),
  });
  const counts = countQueries(world);
  await eventually(async () => {
    counts.clear();
    await eventually(async () => expect(totalOf(counts)).toBeGreaterThanOrEqual(5));
    expect([...counts.keys()]).toEqual(["parts-versions"]);
    expect(index.isCurrent()).toBe(true);
  });
  await world.store([observation(addressOf(7), Date.now() - 60_000)]);
  await eventually(async () => expect(index.size()).toBeGreaterThan(0));
  await index.stop();
});
