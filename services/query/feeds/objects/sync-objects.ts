import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  insertObjects,
  isErased,
  NOTHING_KNOWN,
  type ObjectIndex,
  readFirstCreated,
  readNewestVersion,
  readObjectIndex,
  readObjectsOf,
  type StoredObject,
} from "@noisefloor/clickhouse/feeds/objects.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { applyChanges, changesBetween, NO_CHANGES } from "@noisefloor/domain/feeds/address-changes.ts";
import type { FeedDefinition } from "@noisefloor/domain/feeds/feed-definition.ts";
import { indicatorUuidOf } from "@noisefloor/domain/feeds/indicator-id.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { RunInLane } from "../concurrency.ts";
import type { FeedItem, FeedItems } from "../feed-content.ts";
import type { FeedLists, FeedState } from "../lists/lists.ts";

export type ObjectSyncDeps = {
  /** Of a user who may write the tables of feeds. */
  readonly client: ClickHouseClient;
  readonly lists: Pick<FeedLists, "sync">;
  /** @param asOf milliseconds since 1970 UTC: when addresses of which nothing is stored were last seen. */
  readonly readItems: (addresses: Uint32Array, asOf: number) => FeedItems;
  /** Each piece of a feed's objects takes a lane, so that the first of a large feed do not keep others waiting. */
  readonly runInLane: RunInLane;
  readonly now: () => number;
  /** Ends runs between two of their inserts: the next one stores the rest. */
  readonly stopping: AbortSignal;
};

/**
 * Makes the objects of a feed those of its newest list.
 * @returns that list, each of whose addresses has an object; undefined when the feed has no list yet.
 */
export type SyncObjects = (
  feed: Pick<FeedDefinition, "id" | "workspaceId" | "ttlHours">,
) => Promise<FeedState | undefined>;

/** Of one insert, while other processes store versions of the same feed. */
const MAX_ATTEMPTS = 10;
const BACKOFF_MS = 10;

/** MISP tells an event's states apart by seconds. Milliseconds since 1970 UTC. */
const nextSecond = (time: number) => (Math.floor(time / 1_000) + 1) * 1_000;

type Draft = Omit<StoredObject, "modifiedAt" | "createdAt"> & { readonly createdAt?: number };

/** Calls for the same feed at the same time share one run. */
export function createObjectSync({ client, lists, readItems, runInLane, now, stopping }: ObjectSyncDeps): SyncObjects {
  const running = new Map<string, Promise<FeedState | undefined>>();
  /** For each feed the list whose objects are stored, their newest version, and the hour of the last look for sightings. */
  const synced = new Map<string, { readonly revision: string; readonly newest: number; readonly hour: number }>();

  /**
   * Stores versions with a time that is newer than all that can be read, and of a later second than those of other
   * runs. When another process stored newer ones meanwhile, or others of the same time, readers may have passed that
   * time, so they get another one.
   * @param ownLast the time of the versions that this run stored before.
   * @returns the time of these.
   */
  const store = async (feedId: string, drafts: readonly Draft[], ownLast: number | undefined) => {
    if (drafts.length === 0) return ownLast;
    const created = await readFirstCreated(
      client,
      drafts.flatMap(({ address, createdAt }) => (createdAt === undefined ? address : [])),
    );
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (attempt > 0) await sleep(Math.random() * BACKOFF_MS * 2 ** attempt, undefined, { signal: stopping });
      stopping.throwIfAborted();
      const before = await readNewestVersion(client, feedId);
      const isOwn = before.modifiedAt === ownLast;
      const modifiedAt = Math.max(now(), isOwn ? before.modifiedAt + 1 : nextSecond(before.modifiedAt));
      const objects = drafts.map((draft) => ({
        ...draft,
        createdAt: isErased(draft) ? modifiedAt : (draft.createdAt ?? created.get(draft.address) ?? modifiedAt),
        modifiedAt,
      }));
      await insertObjects(client, feedId, objects);
      const newest = await readNewestVersion(client, feedId);
      if (newest.modifiedAt === modifiedAt && newest.count === drafts.length) return modifiedAt;
    }
    throw new Error(`other processes stored objects of the feed ${feedId} ${MAX_ATTEMPTS} times meanwhile`);
  };

  const revoke = async (feedId: string, addresses: Uint32Array, asOf: number) => {
    let last: number | undefined;
    for await (const items of readItems(addresses, asOf)) {
      const isGone = new Map(items.map((item) => [ipv4ToNumber(item.ip), item.isGone]));
      const objects = await readObjectsOf(client, feedId, [...isGone.keys()]);
      const drafts = objects.map(({ modifiedAt: _, ...object }) => ({
        ...object,
        ...(isGone.get(object.address) && NOTHING_KNOWN),
        isRevoked: true,
      }));
      last = await store(feedId, drafts, last);
    }
    return last;
  };

  const sync: SyncObjects = async ({ id: feedId, workspaceId: owner, ttlHours }) => {
    const hour = Math.floor(now() / HOUR_MS);
    const last = synced.get(feedId);
    const known = await lists.sync(feedId);
    const { modifiedAt: newest } = await readNewestVersion(client, feedId);
    const isSame = last?.revision === known?.head.revision && last?.newest === newest && last.hour === hour;
    if (known !== undefined && isSame) return known;
    // The list after the objects, so that it is not older than one from which another process made them.
    const index = await readObjectIndex(client, feedId);
    const list = await lists.sync(feedId);
    if (list === undefined) return undefined;
    const live = index.addresses.filter((_, position) => index.isRevoked[position] === 0);
    const { added, removed } = changesBetween(live, list.addresses);
    let stored = await revoke(feedId, removed, list.revisedAt);
    const isDue = last?.hour !== hour;
    // A removal erases what a feed may still list by other observations.
    const erased = index.addresses.filter((_, at) => index.lastSeen[at] === 0 && index.isRevoked[at] === 0);
    const { added: restored } = changesBetween(removed, erased);
    const described = isDue ? list.addresses : applyChanges(added, [{ ...NO_CHANGES, added: restored }]);
    const needsVersion = versionRule(index, hour);
    const pieces = readItems(described, list.revisedAt)[Symbol.asyncIterator]();
    const storeNext = async (): Promise<boolean> => {
      const { value: items, done } = await pieces.next();
      if (done) return false;
      const drafts = items.flatMap((item) => (needsVersion(item) ? toDraft(item, ttlHours) : []));
      stored = await store(feedId, drafts, stored);
      return true;
    };
    while (await runInLane({ owner }, storeNext)) {}
    synced.set(feedId, { revision: list.head.revision, newest: stored ?? newest, hour });
    return list;
  };

  return (feed) => {
    const known = running.get(feed.id);
    if (known !== undefined) return known;
    const started = sync(feed).finally(() => running.delete(feed.id));
    running.set(feed.id, started);
    return started;
  };
}

/**
 * An address gets a version when it enters the feed, when none of its observations is stored any more or one is again,
 * and otherwise at most one an hour, when it was seen again.
 */
function versionRule(index: ObjectIndex, hour: number): (item: FeedItem) => boolean {
  const positions = new Map(Array.from(index.addresses, (address, position) => [address, position]));
  return ({ ip, isGone = false, lastSeen }) => {
    const position = positions.get(ipv4ToNumber(ip));
    if (position === undefined || index.isRevoked[position] !== 0) return true;
    if (isGone !== (index.lastSeen[position] === 0)) return true;
    const isSeenAgain = Math.floor(lastSeen.getTime() / 1_000) > (index.lastSeen[position] ?? 0);
    return isSeenAgain && hour > (index.modifiedHours[position] ?? 0);
  };
}

function toDraft({ ip, isGone, firstSeen, lastSeen, classification, tags }: FeedItem, ttlHours: number): Draft {
  const object = { id: indicatorUuidOf(ip), address: ipv4ToNumber(ip), isRevoked: false };
  if (isGone) return { ...object, ...NOTHING_KNOWN };
  const seconds = Math.floor(lastSeen.getTime() / 1_000);
  return {
    ...object,
    firstSeen: Math.floor(firstSeen.getTime() / 1_000),
    lastSeen: seconds,
    validUntil: seconds + ttlHours * 3_600,
    classification,
    tags: [...tags],
  };
}
