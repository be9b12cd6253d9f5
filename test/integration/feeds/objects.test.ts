import {
  readNewestVersion,
  readObjectPage,
  readObjectsOf,
  type StoredObject,
} from "@noisefloor/clickhouse/feeds/objects.ts";
import type { RefreshHead } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { ipv4ToNumber, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { createLanes } from "@noisefloor/query/feeds/concurrency.ts";
import type { FeedItem } from "@noisefloor/query/feeds/feed-content.ts";
import { createObjectSync } from "@noisefloor/query/feeds/objects/sync-objects.ts";
import { expect, onTestFinished, test } from "vitest";
import { FEED } from "../../support/builders/feed.ts";
import { seeded } from "../../support/builders/random.ts";
import { createWorld } from "../../support/worlds/world.ts";

const FIRST = Date.UTC(2026, 10, 20, 14, 5);
const HEAD: RefreshHead = {
  feedId: FEED.id,
  basis: 0,
  refreshedAt: FIRST,
  revision: "00000000-0000-4000-8000-000000000001",
  parent: "00000000-0000-0000-0000-000000000000",
  count: 0,
  guarded: 0,
  kept: 0,
  fellFrom: 0,
  fellAt: 0,
  isTruncated: false,
  tookMs: 1,
};

/** A feed whose list, sightings and clock the test sets, over a real store, in as many processes as it wants. */
async function openFeed() {
  const world = await createWorld(Date.now);
  onTestFinished(() => world.close());
  const { client } = world;
  const feed = { id: FEED.id, lastSeen: new Map<number, number>(), now: FIRST };
  const addresses = () => Uint32Array.from(feed.lastSeen.keys()).sort();
  const openProcess = (stopping = new AbortController().signal) => {
    const sync = createObjectSync({
      client,
      now: () => feed.now,
      runInLane: createLanes({ all: 1, owner: 1, slow: 1 }),
      stopping,
      lists: {
        sync: async () => ({
          head: { ...HEAD, revision: [...addresses()].join() },
          addresses: addresses(),
          recent: [],
          baseAt: FIRST,
          revisedAt: FIRST,
        }),
      },
      async *readItems(asked) {
        for (let start = 0; start < asked.length; start += 25) {
          yield Array.from(asked.subarray(start, start + 25), (address): FeedItem => {
            const lastSeen = new Date(feed.lastSeen.get(address) ?? FIRST);
            const about = { tags: ["mirai"], asn: 0, organization: "", country: "" };
            return { ip: numberToIpv4(address), firstSeen: lastSeen, lastSeen, classification: "malicious", ...about };
          });
        }
      },
    });
    return () => sync({ id: FEED.id, workspaceId: "w", ttlHours: 24 });
  };
  const objectOf = async (ip: string) => (await readObjectsOf(client, FEED.id, [ipv4ToNumber(ip)])).at(0);
  return { feed, client, addresses, openProcess, objectOf };
}

test("a process that stops stores no more objects, and the next one stores the rest", async () => {
  const { feed, openProcess, objectOf } = await openFeed();
  feed.lastSeen.set(ipv4ToNumber("198.51.100.7"), FIRST);
  await expect(openProcess(AbortSignal.abort())()).rejects.toThrow("aborted");
  expect(await objectOf("198.51.100.7")).toBeUndefined();
  await openProcess()();
  expect(await objectOf("198.51.100.7")).toMatchObject({ isRevoked: false });
});

test("an object is new when its address enters, gets a version an hour when seen, and is revoked when it leaves", async () => {
  const { feed, client, openProcess, objectOf } = await openFeed();
  const sync = openProcess();
  const [stays, leaves] = ["198.51.100.7", "9.9.9.9"];
  for (const ip of [stays, leaves]) feed.lastSeen.set(ipv4ToNumber(ip), FIRST - 60_000);
  await sync();
  const first = await objectOf(stays);
  expect(first).toEqual({
    id: "3ae0b0a2-7289-5fda-8a85-02d057ba0968",
    address: ipv4ToNumber(stays),
    createdAt: FIRST,
    modifiedAt: FIRST,
    firstSeen: (FIRST - 60_000) / 1_000,
    lastSeen: (FIRST - 60_000) / 1_000,
    validUntil: (FIRST - 60_000 + 24 * HOUR_MS) / 1_000,
    classification: "malicious",
    tags: ["mirai"],
    isRevoked: false,
  });

  feed.now = FIRST + 10 * 60_000;
  feed.lastSeen.set(ipv4ToNumber(stays), feed.now);
  await sync();
  expect(await objectOf(stays), "a second version in the same hour").toEqual(first);

  feed.now = FIRST + HOUR_MS;
  feed.lastSeen.delete(ipv4ToNumber(leaves));
  await sync();
  const second = await objectOf(stays);
  expect(second).toMatchObject({ createdAt: FIRST, lastSeen: (FIRST + 10 * 60_000) / 1_000, isRevoked: false });
  expect(second?.modifiedAt).toBeGreaterThanOrEqual(feed.now);
  expect(await objectOf(leaves)).toMatchObject({
    createdAt: FIRST,
    lastSeen: (FIRST - 60_000) / 1_000,
    isRevoked: true,
  });

  feed.now = FIRST + HOUR_MS + 60_000;
  feed.lastSeen.set(ipv4ToNumber(leaves), feed.now);
  await openProcess()();
  expect(await objectOf(leaves)).toMatchObject({ createdAt: FIRST, lastSeen: feed.now / 1_000, isRevoked: false });
  const newest = await readNewestVersion(client, FEED.id);
  await openProcess()();
  expect(await readNewestVersion(client, FEED.id), "versions without a reason").toEqual(newest);
});

test("a consumer that follows the versions of two processes ends with exactly the objects of the list", {
  timeout: 240_000,
}, async () => {
  const random = seeded(16);
  const { feed, client, addresses, openProcess } = await openFeed();
  const processes = [openProcess(), openProcess()];
  const known = new Map<number, StoredObject>();
  let after = { modifiedAt: 0, address: 0 };
  const follow = async () => {
    for (;;) {
      const page = await readObjectPage(client, FEED.id, {
        after,
        limit: random.int(1, 9),
        ids: [],
        versions: [],
        revokedAfter: 0,
      });
      for (const object of page) known.set(object.address, object);
      const last = page.at(-1);
      if (last === undefined) return;
      after = { modifiedAt: last.modifiedAt, address: last.address };
    }
  };
  for (let round = 0; round < 6; round++) {
    feed.now += random.int(0, HOUR_MS);
    for (let change = 0; change < 12; change++) {
      const address = 0x01000000 + random.int(0, 40);
      if (random.chance(0.3)) feed.lastSeen.delete(address);
      else feed.lastSeen.set(address, feed.now);
    }
    await Promise.all([...processes.map((sync) => sync()), follow()]);
    if (random.chance(0.5)) await follow();
  }
  await follow();
  const listed = [...known.values()].filter(({ isRevoked }) => !isRevoked).map(({ address }) => address);
  expect(listed.sort((a, b) => a - b)).toEqual([...addresses()]);
  const stored = await readObjectsOf(client, FEED.id, [...known.keys()]);
  expect(stored).toEqual([...known.values()].sort((a, b) => a.address - b.address));
});
