import { insertRefresh, readDepartures, readRevisions, readSteps } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { changesBetween } from "@noisefloor/domain/feeds/address-changes.ts";
import { indicatorUuidOf } from "@noisefloor/domain/feeds/indicator-id.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { FeedState } from "@noisefloor/query/feeds/lists/feed-state.ts";
import { type FeedLists, openFeedLists } from "@noisefloor/query/feeds/lists/lists.ts";
import { readRevoked } from "@noisefloor/query/feeds/objects/feed-objects.ts";
import { indexObjects, nextObjects, selectObjects } from "@noisefloor/query/feeds/objects/object-index.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { FEED } from "../../support/builders/feed.ts";
import { makeState, storeList } from "../../support/builders/feed-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { seeded } from "../../support/builders/random.ts";
import { startFeedProcess } from "../../support/worlds/feed-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const MINUTE = 60_000;
/** Five minutes past an hour. */
const FIRST = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS + 5 * MINUTE;
let now = FIRST;
let world: World;
beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("mirai", "malicious")]);
});
afterAll(() => world.close());

const timeOf = (ms: number) => new Date(ms).toISOString();
const pageSchema = z.object({
  objects: z.array(z.looseObject({ name: z.string(), created: z.string(), modified: z.string() })).default([]),
});

test("an object is new when its address enters, gets a version an hour when seen, and is revoked when it leaves", async () => {
  const key = await world.addCaller("unlimited");
  const [stays, leaves, quiet] = ["45.0.0.7", "45.0.0.9", "45.0.0.10"];
  const see = (ip: string, at: number) => world.store([observation(ip, at, { tags: ["mirai"] })]);
  const put = async (query: string) => {
    const sent = { method: "PUT", url: "/v3/feeds/edge", headers: { key }, payload: { query } } as const;
    return z.object({ id: z.string() }).parse((await world.app.inject(sent)).json()).id;
  };
  const objectsOf = async (id: string, { app }: Pick<World, "app"> = world) => {
    const url = `/taxii2/root/collections/${id}/objects/?match[type]=indicator&added_after=2020-01-01T00:00:00Z`;
    const { objects } = pageSchema.parse((await app.inject({ url, headers: { key } })).json());
    return new Map(objects.map((object) => [object.name, object]));
  };
  for (const ip of [stays, leaves, quiet]) await see(ip, FIRST - MINUTE);
  const id = await put("tags:mirai");
  const first = (await objectsOf(id)).get(stays);
  expect(first).toMatchObject({
    id: `indicator--${indicatorUuidOf(stays)}`,
    created: timeOf(FIRST),
    modified: timeOf(FIRST),
    valid_from: timeOf(FIRST - MINUTE).replace(".000", ""),
    valid_until: timeOf(FIRST - MINUTE + 24 * HOUR_MS).replace(".000", ""),
    indicator_types: ["malicious-activity"],
    labels: ["mirai", "spoofable"],
  });

  now = FIRST + 10 * MINUTE;
  await see(stays, now);
  expect((await objectsOf(id)).get(stays)?.modified, "a second version in the same hour").toBe(timeOf(FIRST));

  const cursorOf = async () =>
    (await world.app.inject({ url: "/v3/feeds/edge.txt", headers: { key } })).headers["feed-cursor"];
  const cursor = await cursorOf();
  now = FIRST + HOUR_MS;
  const second = await objectsOf(id);
  expect(second.get(stays)).toMatchObject({
    created: timeOf(FIRST),
    modified: timeOf(now),
    valid_from: expect.any(String),
  });
  expect(second.get(quiet)?.modified).toBe(timeOf(FIRST));
  expect(await cursorOf(), "a new version is no change of the list").toBe(cursor);
  // Seen before the last look, stored after it.
  await see(quiet, FIRST + 50 * MINUTE);

  now += MINUTE;
  await put(`tags:mirai -ip:${leaves}`);
  const left = (await objectsOf(id)).get(leaves);
  expect(left).toMatchObject({
    created: timeOf(FIRST),
    modified: timeOf(now),
    labels: ["mirai", "spoofable"],
    revoked: true,
  });
  now += MINUTE;
  await put("tags:mirai");
  expect((await objectsOf(id)).get(leaves)).toMatchObject({ created: timeOf(FIRST), modified: timeOf(now) });

  now = FIRST + 2 * HOUR_MS;
  const third = await objectsOf(id);
  expect(third.get(quiet)?.modified).toBe(timeOf(now));
  expect(third.get(stays)?.modified, "a version without a reason").toBe(timeOf(FIRST + HOUR_MS));
  now += HOUR_MS;
  const other = await startFeedProcess(world, () => now);
  expect(await objectsOf(id, other), "versions without a reason").toEqual(third);
  await other.stop();
});

/** Follows the versions of a feed's objects as TAXII's pages give them. */
function openConsumer() {
  const versions = new Map<number, readonly [version: number, isRevoked: boolean]>();
  let after = { modifiedAt: 0, address: 0 };
  return {
    versions,
    listed: () =>
      Uint32Array.from([...versions].flatMap(([address, [, isRevoked]]) => (isRevoked ? [] : [address]))).sort(),
    async follow(state: FeedState | undefined, limit: number) {
      if (state === undefined) return;
      for (;;) {
        const index = indexObjects(state, await readRevoked(state, after.modifiedAt - 1, world.client));
        const page = selectObjects(
          index,
          nextObjects(index, after, limit, () => true),
        );
        for (const [place, address] of page.addresses.entries()) {
          versions.set(address, [page.versions[place] ?? 0, page.isRevoked[place] === 1]);
        }
        if (page.addresses.length < limit) return;
        after = { modifiedAt: (page.versions.at(-1) ?? 0) * 1_000, address: page.addresses.at(-1) ?? 0 };
      }
    },
  };
}
const openProcess = () => openFeedLists({ client: world.client, now: () => now });
const addressesOf = (...addresses: number[]) => Uint32Array.from(addresses).sort();

/** Expects that a consumer has the list, and no version but the current ones. */
async function expectSame(consumer: ReturnType<typeof openConsumer>, lists: FeedLists, feedId: string) {
  const state = await lists.sync(feedId);
  expect([...consumer.listed()]).toEqual([...(state?.addresses ?? [])]);
  for (const [place, address] of state?.addresses.entries() ?? []) {
    expect(consumer.versions.get(address), String(address)).toEqual([state?.versions[place], false]);
  }
}

test("a consumer that follows the versions of two processes ends with exactly the objects of the list", {
  timeout: 240_000,
}, async () => {
  const random = seeded(16);
  const processes = [openProcess(), openProcess()];
  const consumer = openConsumer();
  let list = new Set<number>();
  for (let round = 0; round < 8; round++) {
    now += random.pick([200, 1_000, 5_000]);
    await Promise.all([
      ...processes.map((lists) => {
        const addresses = new Set(list);
        for (let change = 0; change < 6; change++) {
          const address = 0x01000000 + random.int(0, 40);
          if (random.chance(0.4)) addresses.delete(address);
          else addresses.add(address);
        }
        const renewed = addressesOf(...[...addresses].filter((address) => list.has(address) && random.chance(0.2)));
        return storeList(lists, FEED.id, addressesOf(...addresses), { now: now + random.pick([0, 0, 3_000]), renewed });
      }),
      consumer.follow(await random.pick(processes).current(FEED.id), random.int(1, 9)),
    ]);
    if (random.chance(0.5)) await consumer.follow(await random.pick(processes).current(FEED.id), random.int(1, 9));
    list = new Set((await random.pick(processes).sync(FEED.id))?.addresses);
  }
  const last = random.pick(processes);
  await consumer.follow(await last.sync(FEED.id), 7);
  await expectSame(consumer, last, FEED.id);
});

test("a consumer of a list that another process replaced is told of every difference between the two", async () => {
  for (const [laterMs, isOlderFirst] of [
    [0, true],
    [0, false],
    [3_000, true],
    [3_000, false],
  ] as const) {
    const feedId = crypto.randomUUID();
    const processes = [openProcess(), openProcess()] as const;
    const first = await storeList(processes[0], feedId, addressesOf(1, 2, 3), { now });
    const consumers = [openConsumer(), openConsumer()] as const;
    for (const consumer of consumers) await consumer.follow(first, 2);
    const states = [
      makeState(feedId, first, addressesOf(1, 4, 5), { now: now + 10_000 }),
      makeState(feedId, first, addressesOf(1, 2, 4, 6), { now: now + 10_000 + laterMs, renewed: addressesOf(1) }),
    ] as const;
    const [early, late] = isOlderFirst ? ([0, 1] as const) : ([1, 0] as const);
    await processes[early].write(states[early], false);
    await consumers[early].follow(states[early], 2);
    // The process is killed when it has stored and answered its list: the next refresh, of whichever process, sees it.
    const step = states[late].recent.at(-1);
    if (step === undefined) throw new Error("a list that differs has a revision");
    await insertRefresh(world.client, { ...step, ...states[late].head, base: undefined });
    await consumers[late].follow(states[late], 2);
    const newest = (await processes[early].sync(feedId))?.addresses ?? addressesOf();
    const counts = await storeList(processes[early], feedId, newest, { now: now + 60_000 });
    for (const consumer of consumers) {
      await consumer.follow(counts, 2);
      await expectSame(consumer, processes[0], feedId);
    }
    const [one, other] = states.map(({ addresses }) => changesBetween(addresses, counts.addresses));
    expect([one, other].filter((each) => (each?.added.length ?? 0) + (each?.removed.length ?? 0) === 0)).toHaveLength(
      1,
    );
    now += 120_000;
  }
});

test("changes stay for 90 days, refreshes that found none and new versions for ten", async () => {
  const [feedId, unused] = [crypto.randomUUID(), crypto.randomUUID()];
  const lists = openProcess();
  await storeList(lists, unused, addressesOf(1), { now: now - 91 * DAY_MS });
  const store = (daysAgo: number, addresses: Uint32Array, renewed = addressesOf()) =>
    storeList(lists, feedId, addresses, { now: now - daysAgo * DAY_MS, renewed });
  await store(89, addressesOf(1, 2));
  await store(60, addressesOf(1, 2, 3));
  await store(59, addressesOf(1, 2, 3), addressesOf(1));
  await store(58, addressesOf(1, 2, 3));
  const { head } = await store(57, addressesOf(1, 3));
  for (const owner of await world.client.owners()) {
    await owner.command({ query: "OPTIMIZE TABLE feed_refreshes FINAL" });
  }
  expect((await readSteps(world.client, feedId, 0)).map(({ size }) => size)).toEqual([2, 1, 0, 1]);
  expect(await readSteps(world.client, unused, 0)).toEqual([]);
  const revisions = await readRevisions(world.client, feedId, { since: 0, until: now }, true);
  expect(revisions.map(({ renewed }) => renewed.length)).toEqual([0, 0, 0, 0]);
  const left = await readDepartures(world.client, feedId, 0, now);
  expect(left).toEqual({ addresses: addressesOf(2), versions: addressesOf(head.revisedAt / 1_000) });
});
