import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { mutate } from "@noisefloor/clickhouse/mutations/mutate.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { readKnownAddresses, unusedKnown, writeKnown } from "@noisefloor/clickhouse/watches/known.ts";
import { DAY_MS, MINUTE_MS } from "@noisefloor/domain/time/window.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { reapplyRules } from "@noisefloor/ingest/reapply/reapply.ts";
import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import { parseMatch } from "@noisefloor/ingest/tagging/rule-files/parse-match.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { allEvents, makeWatch, startWatching, writeWatches } from "../../support/worlds/watching-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const WORKSPACE = "watching";
const NETWORKS: Watch["on"] = { type: "network_seen", networks: ["45.0.0.0/8"] };
const seenNow = (ip: string, more = {}) => observation(ip, Date.now() - 1_000, more);
const addresses = (event: WatchEvent | undefined) =>
  event?.type === "network_seen" || event?.type === "search_matches" ? event.data.addresses.map(({ ip }) => ip) : [];

let world: World;
let key: string;
beforeEach(async () => {
  world = await createWorld(Date.now);
  key = await world.addCaller("unlimited", [], WORKSPACE);
});
afterEach(() => world.close());

const watching = async (options: Parameters<typeof startWatching>[1] = {}) => {
  const process = await startWatching(world, options);
  onTestFinished(() => process.kill());
  return process;
};

/** Stores an observation as one that was received ten minutes ago. */
async function storeReceivedEarlier(ip: string, more = {}) {
  await world.store([observation("47.0.0.1", Date.now() - 11 * MINUTE_MS, more)]);
  const earlier = `toIPv4('${ip}') AS source_ip, received_at - INTERVAL 10 MINUTE AS received_at`;
  await world.client.insertSelect({
    query: `INSERT INTO ${OBSERVATIONS} SELECT * REPLACE (${earlier}) FROM ${OBSERVATIONS}`,
  });
}

test("watches go on after days in which nobody looked, when looks without events have expired", async () => {
  await writeWatches(world, [makeWatch(WORKSPACE, NETWORKS)]);
  const before = await watching();
  await before.look();
  await before.stop();
  await mutate(world.client, { table: "watch_log", change: "UPDATE looked_at = looked_at - INTERVAL 2 DAY WHERE 1" });
  for (const owner of await world.client.owners()) await owner.command({ query: "OPTIMIZE TABLE watch_log FINAL" });
  const process = await watching();
  await process.look();
  await world.store([seenNow("45.0.0.1")]);
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.1"]]);
});

test("what was stored before a process knew of a watch, but after it was made, is told of", async () => {
  const process = await watching();
  await writeWatches(world, [makeWatch(WORKSPACE, { type: "network_seen", networks: ["46.0.0.0/8"] })]);
  await process.look();
  await writeWatches(world, [makeWatch(WORKSPACE, NETWORKS)]);
  await world.store([seenNow("45.0.0.1")]);
  expect(await process.look(false)).toEqual([]);
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.1"]]);
});

test("a watch tells of nothing that was stored while it was disabled", async () => {
  const send = (method: "PATCH" | "POST", url: string, payload: object) =>
    world.app.inject({ method, url, headers: { key }, payload });
  const { id } = (await send("POST", "/v3/watches", { name: "ours", on: NETWORKS })).json();
  const process = await watching();
  await process.look();
  await send("PATCH", `/v3/watches/${id}`, { enabled: false });
  await process.look();
  await world.store([seenNow("45.0.0.1")]);
  await process.look();
  await new Promise((settle) => setTimeout(settle, 1_100));
  await send("PATCH", `/v3/watches/${id}`, { enabled: true });
  expect(await process.look()).toEqual([]);
  await world.store([seenNow("45.0.0.2")]);
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.2"]]);
});

test.each([5, -5])("a clock that is %i minutes ahead loses nothing and tells of nothing of before", async (minutes) => {
  const other = await createWorld(() => Date.now() + minutes * MINUTE_MS);
  onTestFinished(() => other.close());
  const otherKey = await other.addCaller("unlimited", [], WORKSPACE);
  await other.store([observation("45.0.0.1", Date.now() - MINUTE_MS)]);
  await new Promise((settle) => setTimeout(settle, 1_100));
  await other.app.inject({
    method: "POST",
    url: "/v3/watches",
    headers: { key: otherKey },
    payload: { name: "ours", on: NETWORKS },
  });
  await other.watches.look();
  await other.store([observation("45.0.0.2", Date.now() - MINUTE_MS)]);
  await other.watches.look();
  expect((await allEvents(other)).map(addresses)).toEqual([["45.0.0.2"]]);
});

test("a process that slept reads what the log of changes no longer has", async () => {
  await writeWatches(world, [makeWatch(WORKSPACE, NETWORKS)]);
  let sleptMs = 0;
  const process = await watching({ now: () => Date.now() + sleptMs });
  await process.look();
  await world.store([seenNow("45.0.0.1")]);
  await mutate(world.client, { table: "observation_changes", change: "DELETE WHERE 1" });
  // While it slept, its row of the log became as old.
  const change = "UPDATE looked_at = looked_at - INTERVAL 20 MINUTE WHERE 1";
  await mutate(world.client, { table: "watch_log", change });
  sleptMs = 20 * MINUTE_MS;
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.1"]]);
});

test("what the first look after an outage fails to read, the next one reads", async () => {
  await writeWatches(world, [makeWatch(WORKSPACE, NETWORKS, { sinceAt: Date.now() - 30 * MINUTE_MS })]);
  const before = await watching();
  await before.look();
  await before.stop();
  const change = "UPDATE looked_at = looked_at - INTERVAL 20 MINUTE WHERE 1";
  await mutate(world.client, { table: "watch_log", change });
  await storeReceivedEarlier("45.0.0.1");
  await mutate(world.client, { table: "observation_changes", change: "DELETE WHERE 1" });
  let isFailing = true;
  const client: ClickHouseClient = {
    ...world.client,
    owners: () => (isFailing ? Promise.reject(new Error("no answer")) : world.client.owners()),
  };
  const process = await watching({ client });
  await expect(process.look()).rejects.toThrow();
  isFailing = false;
  expect((await process.look()).map(addresses)).toEqual([["45.0.0.1"]]);
});

test("an insert of which no answer came may be stored late, and still nothing is told twice", async () => {
  await writeWatches(world, [makeWatch(WORKSPACE, NETWORKS)]);
  let [isCut, late] = [false, async () => {}];
  const client: ClickHouseClient = {
    ...world.client,
    async insert(params) {
      if (!isCut || params.table !== "watch_log") {
        await late();
        return world.client.insert(params);
      }
      isCut = false;
      late = async () => {
        late = async () => {};
        await world.client.insert(params);
      };
      throw new Error("socket hang up");
    },
  };
  const process = await watching({ client });
  await process.look();
  await world.store([seenNow("45.0.0.1")]);
  isCut = true;
  await expect(process.look()).rejects.toThrow();
  const again = await watching({ client });
  for (const each of [process, process, again]) await each.look().catch(() => {});
  expect((await allEvents(world)).map(addresses)).toEqual([["45.0.0.1"]]);
});

test("tags that are applied anew to what is stored tell of nothing", async () => {
  await world.addTags([makeTag("mirai", "malicious")]);
  await storeReceivedEarlier("46.0.0.1", { http: { path: "/evil" } });
  await writeWatches(world, [
    makeWatch(WORKSPACE, { type: "search_matches", query: "tags:mirai 46.0.0.0/8" }),
    makeWatch(WORKSPACE, { type: "network_seen", networks: ["46.0.0.0/8"] }),
  ]);
  const process = await watching();
  await process.look();
  const match = parseMatch({ path: "/evil" }, { error: (message) => expect.fail(message), warning: () => {} });
  if (match === undefined) return expect.unreachable();
  const rules = [{ slug: "mirai", match, examples: [], counterexamples: [] }];
  const { changed } = await reapplyRules(world.client, {
    rules: { tagger: createTagger(rules), rules, idOf: (slug) => world.catalogue.resolve(slug)?.id },
    times: { from: Date.now() - DAY_MS, to: Date.now() },
    dryRun: false,
    now: Date.now,
  });
  expect(changed).toBe(2);
  expect(await process.look()).toEqual([]);
  await world.store([seenNow("46.0.0.2")]);
  expect((await process.look()).map(addresses)).toEqual([["46.0.0.2"]]);
});

test("what a watch knew by another condition, or before it was deleted, is forgotten; what it knows is not", async () => {
  const now = Date.now();
  const on: Watch["on"] = { type: "search_matches", query: "*" };
  const watches = [1, 2].map((days) => makeWatch(WORKSPACE, on, { sinceAt: now - days * DAY_MS }));
  const [kept, deleted] = watches;
  if (kept === undefined || deleted === undefined) throw new Error("no watches");
  await writeWatches(world, watches);
  await watchDefinitions.delete(world.client, [deleted], now);
  const earlier = { ...kept, sinceAt: kept.sinceAt - 1 };
  for (const watch of [kept, deleted, earlier]) await writeKnown(world.client, watch, [7]);
  expect(await unusedKnown.forgetDeleted(world.client, now + 1_000)).toBe(2);
  expect(await readKnownAddresses(world.client, kept)).toEqual(Uint32Array.of(7));
  for (const watch of [deleted, earlier]) expect(await readKnownAddresses(world.client, watch)).toBeUndefined();
  expect(await unusedKnown.forgetDeleted(world.client, now + 1_000)).toBe(0);
});
