import { setTimeout as sleep } from "node:timers/promises";
import { deleteWorkspace } from "@noisefloor/clickhouse/access/workspace-data.ts";
import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { readBases } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { writeTokenUses } from "@noisefloor/clickhouse/feeds/token-uses.ts";
import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { changesBetween } from "@noisefloor/domain/feeds/address-changes.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { FeedState } from "@noisefloor/query/feeds/lists/feed-state.ts";
import { readChangesSince } from "@noisefloor/query/feeds/lists/history.ts";
import { openFeedLists } from "@noisefloor/query/feeds/lists/lists.ts";
import { openTokenUses } from "@noisefloor/query/feeds/service/token-uses.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { makeState, storeList } from "../../support/builders/feed-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { type FeedProcess, startFeedProcess } from "../../support/worlds/feed-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

let now = Date.now();
let world: World;
let key: string;
beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("mirai", "malicious"), makeTag("crawler", "benign")]);
  await world.store([
    observation("45.0.0.1", now - 60_000, { tags: ["mirai"] }),
    observation("200.0.0.1", now - 60_000, { tags: ["crawler"] }),
  ]);
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

const addressesOf = (first: number, count: number) => Uint32Array.from({ length: count }, (_, index) => first + index);

async function put(name: string, query: string, more: object = {}) {
  const response = await world.app.inject({
    method: "PUT",
    url: `/v3/feeds/${name}`,
    headers: { key },
    payload: { query, ...more },
  });
  expect(response.statusCode).toBeLessThan(300);
  return response.json();
}
const listOf = async (name: string) =>
  (await world.app.inject({ url: `/v3/feeds/${name}.txt`, headers: { key } })).body;

test("a refresh that ends late does not replace the list of a newer definition", async () => {
  const { id } = await put("late", "tags:mirai");
  const lists = openFeedLists({ client: world.client, now: () => now });
  const before = await lists.sync(id);
  const newer = makeState(id, before, addressesOf(10, 2), { now: now + 2_000, basis: now + 10 });
  const older = makeState(id, before, addressesOf(20, 2), { now: now + 2_010, basis: now + 5 });
  await lists.write(newer, false);
  const counts = await lists.write(older, false);
  expect(counts.addresses).toEqual(newer.addresses);
  expect((await lists.current(id))?.addresses).toEqual(newer.addresses);
});

test("a list of a clock that is ahead is replaced once nobody refreshes it any more", async () => {
  const { id } = await put("ahead", "tags:mirai");
  await storeList(world.feeds.feeds.lists, id, addressesOf(10, 2), { now, basis: now + 86_400_000 });
  expect(await listOf("ahead")).toBe("0.0.0.10\n0.0.0.11\n");
  now += 100_000;
  expect(await listOf("ahead")).toBe("45.0.0.1\n");
});

/** The serial number of a feed's response policy zone, and its addresses. */
async function readZone({ app }: Pick<FeedProcess, "app">, name: string) {
  const { statusCode, body } = await app.inject({ url: `/v3/feeds/${name}.rpz`, headers: { key } });
  expect(statusCode).toBe(200);
  const [, serial = ""] = / SOA \S+ \S+ (\d+) /.exec(body) ?? [];
  return { serial: Number(serial), addresses: body.match(/^\S+rpz-ip/gm) ?? [] };
}

test("serials grow with every list, within a second, whichever process makes it and whatever its clock says", async () => {
  const behind = await startFeedProcess(world, () => now - 5_000);
  await put("serial", "tags:mirai");
  let last = (await readZone(world, "serial")).serial;
  for (const [app, query] of [
    [world.app, "tags:crawler"],
    [world.app, "tags:mirai"],
    [behind.app, "tags:crawler"],
    [behind.app, "tags:mirai OR tags:crawler"],
    [world.app, "tags:mirai"],
  ] as const) {
    const at = { method: "PUT", url: "/v3/feeds/serial", headers: { key } } as const;
    expect((await app.inject({ ...at, payload: { query } })).statusCode).toBeLessThan(300);
    const { serial } = await readZone({ app }, "serial");
    expect(serial).toBeGreaterThan(last);
    last = serial;
  }
  const started = await startFeedProcess(world, () => now);
  expect((await readZone(started, "serial")).serial).toBe(last);
  await Promise.all([behind, started].map((process) => process.stop()));
});

test("two lists that processes make at the same time never share a serial, and the list that stays has the highest", async () => {
  const processes = [await startFeedProcess(world, () => now), await startFeedProcess(world, () => now + 1)] as const;
  const [one, other] = processes;
  const known = new Map<number, string[]>();
  const readAll = async () => {
    for (const process of processes) {
      const { serial, addresses } = await readZone(process, "fork");
      expect(known.get(serial) ?? addresses).toEqual(addresses);
      known.set(serial, addresses);
    }
  };
  const at = { method: "PUT", url: "/v3/feeds/fork", headers: { key } } as const;
  for (let round = 0; round < 5; round++) {
    now += 200;
    await Promise.all([
      one.app.inject({ ...at, payload: { query: `tags:mirai OR ip:9.0.0.${round}` } }),
      other.app.inject({ ...at, payload: { query: `tags:crawler OR ip:9.0.0.${round}` } }),
    ]);
    await readAll();
    await Promise.all(processes.map((process) => process.look()));
    await readAll();
    expect((await readZone(one, "fork")).serial).toBe(Math.max(...known.keys()));
  }
  await Promise.all(processes.map((process) => process.stop()));
});

test("looks refresh feeds as they are defined at that moment, without a failure", async () => {
  const errors: unknown[] = [];
  const { id } = await put("looked", "tags:mirai");
  const process = await startFeedProcess(world, () => now, {
    lookEveryMs: 20,
    onLookError: (error) => errors.push(error),
  });
  const countIn = async () => (await process.app.inject({ url: "/v3/feeds/looked", headers: { key } })).json().count;
  await eventually(async () => expect(await countIn()).toBe(1));
  await put("looked", "tags:mirai OR tags:crawler");
  await process.look();
  await eventually(async () => expect(await countIn()).toBe(2));
  expect((await world.feeds.feeds.lists.sync(id))?.addresses.length).toBe(2);
  expect(errors).toEqual([]);
  await process.stop();
});

test("slow feeds of one workspace do not make those of another wait", async () => {
  const other = await world.addCaller("unlimited");
  const names = ["slow-1", "slow-2", "slow-3", "slow-4", "slow-5", "slow-6", "quick"];
  for (const name of names) {
    const headers = { key: name === "quick" ? other : key };
    const payload = { query: "tags:mirai", limit: name === "quick" ? 100 : 77 };
    await world.app.inject({ method: "PUT", url: `/v3/feeds/${name}`, headers, payload });
  }
  now += 100_000;
  const [read, refreshed] = [reader(world.client, { maxSeconds: 60 }), [] as string[]];
  const process = await startFeedProcess(world, () => now, {
    lookEveryMs: 20,
    async read(query, params, signal) {
      if (JSON.stringify(params).includes('"limit":10077')) await sleep(500);
      return read(query, params, signal);
    },
    onRefresh: ({ name }) => void (names.includes(name) && refreshed.push(name)),
  });
  await eventually(async () => expect(refreshed).toContain("quick"));
  expect(refreshed.indexOf("quick")).toBeLessThan(4);
  await process.stop();
});

test("a changed OWN_ADDRESSES holds from the first answer after the start", async () => {
  await put("own", "tags:mirai OR tags:crawler");
  for (const [ownAddresses, listed] of [
    [["200.0.0.0/24"], ["45.0.0.1"]],
    [[], ["45.0.0.1", "200.0.0.1"]],
  ] as const) {
    // It does not look through the feeds before the answer.
    const process = await startFeedProcess(world, () => now, { ownAddresses, lookEveryMs: 86_400_000 });
    const { body } = await process.app.inject({ url: "/v3/feeds/own.txt", headers: { key } });
    expect(body.trim().split("\n")).toEqual(listed);
    await process.stop();
  }
});

test("a token that another process has just made works at once, and is revoked with its feed", async () => {
  await put("edge", "tags:mirai");
  const other = await startFeedProcess(world, () => now);
  const made = await other.app.inject({
    method: "POST",
    url: "/v3/feeds/edge/tokens",
    headers: { key },
    payload: { label: "edge" },
  });
  expect(made.statusCode).toBe(201);
  const read = () => world.app.inject({ url: "/v3/feeds/edge.txt", headers: { key: made.json().token } });
  expect((await read()).statusCode).toBe(200);
  const deleted = await world.app.inject({ method: "DELETE", url: "/v3/feeds/edge", headers: { key } });
  expect(deleted.statusCode).toBe(204);
  await put("edge", "tags:mirai");
  expect((await read()).statusCode).toBe(401);
  await other.stop();
});

test("a feed that was refreshed days ago is listed with what it then found", async () => {
  const { cursor } = await put("old", "tags:mirai");
  now += 2 * 86_400_000;
  const { feeds } = (await world.app.inject({ url: "/v3/feeds", headers: { key } })).json();
  expect(feeds.find(({ name }: { name: string }) => name === "old")).toMatchObject({ count: 1, cursor });
  now -= 2 * 86_400_000;
});

test("the lists of a workspace's feeds, ready-made ones included, are deleted with it", async () => {
  const own = await world.addCaller("unlimited");
  const { id: kept } = await put("kept", "tags:mirai");
  const sent = {
    method: "PUT",
    url: "/v3/feeds/told",
    headers: { key: own },
    payload: { query: "tags:mirai" },
  } as const;
  const { id } = (await world.app.inject(sent)).json();
  const readRecent = async (of: string) => {
    const recent = (await world.app.inject({ url: "/v3/feeds/recent", headers: { key: of } })).json();
    return recent.id;
  };
  const [recent, others] = [await readRecent(own), await readRecent(key)];
  const ofTag = (await world.app.inject({ url: "/v3/feeds/tag-mirai", headers: { key: own } })).json().id;
  for (const one of [id, recent, others, ofTag]) expect(await readBases(world.client, one)).toHaveLength(1);
  await deleteWorkspace(world.client, world.accessCache.callerOf(own)?.workspaceId ?? "");
  for (const one of [id, recent, ofTag]) expect(await readBases(world.client, one)).toEqual([]);
  for (const one of [kept, others]) expect(await readBases(world.client, one)).toHaveLength(1);
});

test("changes of many revisions are the same, put together or compared as lists", async () => {
  const { id: feedId } = await put("long", "tags:mirai");
  const { lists } = world.feeds.feeds;
  const chain: FeedState[] = [];
  for (let step = 0; step < 7; step++) {
    const state = makeState(feedId, chain.at(-1), addressesOf(10 + step, 8), { now: now + step, basis: now });
    // Whole lists are at the start, and in the middle.
    chain.push(await lists.write(state, step % 3 === 0));
  }
  const { head, addresses, names = [] } = (await lists.sync(feedId)) ?? {};
  for (const {
    head: { list },
    addresses: before,
  } of chain) {
    const span = { feedId, since: list, revision: head?.revision ?? "", addresses: addresses ?? before, names, now };
    const expected = changesBetween(before, span.addresses);
    expect(await readChangesSince(world.client, span)).toMatchObject(expected);
    expect(await readChangesSince(world.client, span, 0)).toMatchObject(expected);
  }
});

const MINUTE = 60_000;
const QUIET = "ip:46.0.0.0/24 last_seen:1h";
/** What a feed lists, as a process answers it, and what the answer says of its fall. */
async function readList(name: string, { app }: Pick<FeedProcess, "app"> = world) {
  const { headers, body } = await app.inject({ url: `/v3/feeds/${name}.txt`, headers: { key } });
  const addresses = body.split("\n").flatMap((line) => line.split(".")[3] ?? []);
  return { last: addresses.join(" "), fellFrom: headers["feed-fell-from"], cursor: String(headers["feed-cursor"]) };
}
const seen = (last: number, at: number, sensor = "s") => observation(`46.0.0.${last}`, at, { sensor_id: sensor });

test("a feed that keeps what falls lists it for an hour, in every process, but nothing that is guarded or removed", async () => {
  const start = now;
  await world.store([1, 2, 3, 4, 5, 6].map((last) => seen(last, now - 50 * MINUTE)));
  await world.store([seen(3, now - 55 * MINUTE, "other")]);
  await put("kept-fallen", QUIET, { keep_fallen: true });
  await put("fallen", QUIET);
  const { cursor, ...before } = await readList("kept-fallen");
  expect(before).toEqual({ last: "1 2 3 4 5 6", fellFrom: undefined });
  const since = async () =>
    (await world.app.inject({ url: `/v3/feeds/kept-fallen.txt?since=${cursor}`, headers: { key } })).body;

  now += 20 * MINUTE;
  expect(await readList("kept-fallen")).toEqual({ last: "1 2 3 4 5 6", fellFrom: "6", cursor });
  expect(await readList("fallen")).toMatchObject({ last: "", fellFrom: "6" });
  const shown = await world.app.inject({ url: "/v3/feeds/kept-fallen", headers: { key } });
  expect(shown.json()).toMatchObject({ keep_fallen: true, count: 6, kept: 6, fell_from: 6, cursor });
  const restarted = await startFeedProcess(world, () => now);
  expect(await readList("kept-fallen", restarted)).toEqual({ last: "1 2 3 4 5 6", fellFrom: "6", cursor });
  expect(await readList("fallen", restarted)).toMatchObject({ last: "", fellFrom: "6" });

  now += 2 * MINUTE;
  await world.store([seen(9, now)]);
  expect((await readList("kept-fallen", restarted)).last).toBe("1 2 3 4 5 6 9");
  const guard = { method: "POST", url: "/v3/guard", headers: { key }, payload: { network: "46.0.0.1" } } as const;
  expect((await world.app.inject(guard)).statusCode).toBe(201);
  expect(await readList("kept-fallen")).toMatchObject({ last: "2 3 4 5 6 9", fellFrom: "6" });
  await removeObservations(world.client, { addresses: ["46.0.0.2"] });
  await removeObservations(world.client, { addresses: ["46.0.0.3"], sensors: ["s"] });
  now += 2 * MINUTE;
  expect(await readList("kept-fallen")).toMatchObject({ last: "4 5 6 9", fellFrom: "6" });
  expect(await since()).toBe("-46.0.0.1\n-46.0.0.2\n-46.0.0.3\n+46.0.0.9\n");

  now = start + 79 * MINUTE;
  expect((await readList("kept-fallen", restarted)).last).toBe("4 5 6 9");
  now += 2 * MINUTE;
  expect(await readList("kept-fallen", restarted)).toMatchObject({ last: "9", fellFrom: "6" });
  expect(await readList("kept-fallen")).toMatchObject({ last: "9", fellFrom: "6" });
  await restarted.stop();
});

test("a feed that keeps what falls lists what it finds once that has recovered, or the feed was saved again", async () => {
  const at = now - 50 * MINUTE;
  const queryOf = (first: number) => `ip:46.0.${first}.0/24 last_seen:1h`;
  const seenIn = (network: number, lasts: readonly number[], time: number) =>
    world.store(lasts.map((last) => observation(`46.0.${network}.${last}`, time)));
  await seenIn(1, [1, 2, 3, 4], at);
  await put("recovers", queryOf(1), { keep_fallen: true });
  await put("saved", queryOf(1), { keep_fallen: true });
  now += 20 * MINUTE;
  for (const name of ["recovers", "saved"]) expect((await readList(name)).last).toBe("1 2 3 4");
  await put("saved", queryOf(1), { keep_fallen: true });
  expect(await readList("saved")).toMatchObject({ last: "", fellFrom: undefined });
  await seenIn(1, [1, 3, 4], now);
  now += 2 * MINUTE;
  expect(await readList("recovers")).toMatchObject({ last: "1 3 4", fellFrom: undefined });
});

test("the last use of each token is known, in every protocol and process, and a token that is no longer used is told of", async () => {
  const { id } = await put("used", "tags:mirai");
  const makeToken = async (label: string) => {
    const request = { method: "POST", url: "/v3/feeds/used/tokens", headers: { key }, payload: { label } } as const;
    return z.object({ id: z.string(), token: z.string() }).parse((await world.app.inject(request)).json());
  };
  const tokens = [await makeToken("firewall"), await makeToken("bouncer"), await makeToken("shelf")] as const;
  const [firewall, bouncer] = tokens;
  const usesIn = async ({ app }: Pick<FeedProcess, "app">) => {
    const schema = z.object({ tokens: z.array(z.object({ label: z.string(), last_used_at: z.string() })) });
    const listed = await app.inject({ url: "/v3/feeds/used/tokens", headers: { key } });
    return Object.fromEntries(schema.parse(listed.json()).tokens.map((one) => [one.label, one.last_used_at]));
  };
  expect(await usesIn(world)).toEqual({ firewall: "", bouncer: "", shelf: "" });
  const other = await startFeedProcess(world, () => now);
  await other.app.inject({ url: "/v3/feeds/used.txt", headers: { key: firewall.token } });
  await other.app.inject({ url: "/v1/decisions/stream?startup=true", headers: { "x-api-key": bouncer.token } });
  const used = formatTimestamp(now);
  expect(await usesIn(other)).toEqual({ firewall: used, bouncer: used, shelf: "" });
  await other.stop();
  expect(await usesIn(world)).toEqual({ firewall: used, bouncer: used, shelf: "" });

  // For an hour, one of them is used every five minutes.
  const hour = Array.from({ length: 12 }, (_, index) => ({ tokenId: firewall.id, usedAt: now + index * 5 * MINUTE }));
  for (const use of hour) await writeTokenUses(world.client, [use]);
  const last = now + 55 * MINUTE;
  const uses = openTokenUses({ client: world.client, now: () => now, onError: () => {} });
  await uses.read();
  now = last + 23 * 60 * MINUTE;
  expect(uses.summarize(tokens)).toEqual({ lastUsedAt: last, silentTokens: 0 });
  now += 2 * 60 * MINUTE;
  expect(uses.summarize(tokens)).toEqual({ lastUsedAt: last, silentTokens: 1 });
  now += 7 * 24 * 60 * MINUTE;
  expect(uses.summarize(tokens).silentTokens).toBe(0);
  expect(world.accessCache.tokensOf(id)).toHaveLength(3);
});
