import { setTimeout as sleep } from "node:timers/promises";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import { LRUCache } from "lru-cache";
import { createLanes } from "../concurrency.ts";
import type { FeedState } from "../lists/feed-state.ts";
import type { Refreshed } from "../lists/refresh.ts";

/** How a feed is that this process refreshes. */
export type RefreshHealth = {
  /** As of when its list is, in milliseconds since 1970 UTC; when it was defined, before its first refresh. */
  readonly refreshedAt: number;
  /** How many addresses it lists. */
  readonly count: number;
  /** Refreshes that failed in a row. */
  readonly failures: number;
  /** How many it listed before it lost half of them at one refresh; 0 when it did not. */
  readonly fellFrom: number;
  /** How many addresses the guard held back although they attacked. */
  readonly attackers: number;
};

/** The last refresh of a feed: when it ended, by `performance.now()`, and how long the feed rests then. */
type Last = RefreshHealth & {
  readonly at: number;
  readonly restMs: number;
  readonly tookMs: number;
  readonly basis: number;
};

export type ScheduleOptions = {
  /** The feeds that users made. */
  readonly made: () => readonly Feed[];
  /** Whether a feed is enabled and its workspace exists. */
  readonly isActive: (feed: Feed) => boolean;
  /** When a feed or its guard changed last, in milliseconds since 1970 UTC. */
  readonly basisOf: (feed: Feed) => number;
  readonly refresh: (feed: Feed, maxAgeMs: number, signal: AbortSignal) => Promise<Refreshed>;
  /** The server ends a refresh that takes longer. */
  readonly maxSeconds: number;
  /** Whether queries of callers wait for their turn: refreshes let them go first. */
  readonly isBusy: () => boolean;
  /** Called with a refresh that failed, unless the stop ended it, and with those that succeed again. */
  readonly onRefresh: (feed: Feed, error: unknown) => void;
};

/** When each feed is refreshed, and how that went. */
export type Schedule = {
  /** Refreshes a feed now, or shares the refresh that is under way. */
  refresh(feed: Feed, maxAgeMs: number): Promise<FeedState>;
  /** A ready-made feed is refreshed for a while after it was read. */
  noteRead(feed: Feed): void;
  /** Begins to refresh the feeds whose turn it is. */
  look(): Promise<void>;
  health(feedId: string): RefreshHealth | undefined;
  mostAttackers(): number;
  stop(): Promise<void>;
};

/** Every feed is refreshed at least once a minute. */
export const REFRESH_AFTER_MS = 45_000;
const KEPT_AFTER_READ_MS = 15 * 60_000;
const MAX_READ = 10_000;
/** Max pause after a refresh that failed or took long. */
const MAX_REST_MS = 5 * 60_000;
/** How many times as long as its refresh took a feed rests. */
const RESTS = { afterSuccess: 4, afterFailure: 10 } as const;
/** Refreshes at the same time: quick ones always find a lane, and so does every workspace beside another. */
const MAX_REFRESHES = { all: 4, owner: 3, slow: 2 } as const;
/** A refresh that took longer counts as slow the next time. */
const SLOW_MS = 2_000;
/** How long a refresh lets queries of callers go first. */
const MAX_YIELD_MS = 5_000;

export function openSchedule(options: ScheduleOptions): Schedule {
  const { basisOf, onRefresh } = options;
  const stopping = new AbortController();
  const share = createSingleFlight<string, FeedState>();
  const last = new Map<string, Last>();
  /** The ready-made feeds that are read. */
  const read = new LRUCache<string, Feed>({ max: MAX_READ, ttl: KEPT_AFTER_READ_MS });
  /** Feeds that wait for a lane in the background. */
  const queued = new Set<string>();
  const runInLane = createLanes(MAX_REFRESHES);

  const begin = async (feed: Feed, maxAgeMs: number): Promise<FeedState> => {
    stopping.signal.throwIfAborted();
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(options.maxSeconds * 1_000)]);
    const start = performance.now();
    const basis = basisOf(feed);
    const note = (health: RefreshHealth, tookMs: number, times: number) => {
      // One that takes long must not keep the others waiting again and again.
      const restMs = Math.max(REFRESH_AFTER_MS, Math.min(MAX_REST_MS, times * tookMs));
      last.set(feed.id, { ...health, at: performance.now(), restMs, tookMs, basis });
    };
    try {
      const { state, attackers = last.get(feed.id)?.attackers ?? 0 } = await options.refresh(feed, maxAgeMs, signal);
      const { refreshedAt, count, fellFrom, tookMs } = state.head;
      note({ refreshedAt, count, fellFrom, attackers, failures: 0 }, tookMs, RESTS.afterSuccess);
      onRefresh(feed, undefined);
      return state;
    } catch (error) {
      const before = last.get(feed.id) ?? { ...NEVER, refreshedAt: feed.updatedAt };
      note({ ...before, failures: before.failures + 1 }, performance.now() - start, RESTS.afterFailure);
      if (!stopping.signal.aborted) onRefresh(feed, error);
      throw error;
    }
  };
  // One that is under way may have begun before the change that the caller wants to see.
  const keyOf = (feed: Feed) => `${feed.id} ${basisOf(feed)}`;
  const laneOf = (feed: Feed, isUrgent: boolean) => ({
    owner: feed.workspaceId,
    isSlow: (last.get(feed.id)?.tookMs ?? 0) > SLOW_MS,
    isUrgent,
  });

  /** Changed feeds and guards come first, then the lists that are oldest. */
  const order = (feed: Feed) => {
    const refreshed = last.get(feed.id);
    return refreshed === undefined || refreshed.basis !== basisOf(feed) ? 0 : refreshed.at;
  };
  const isDue = (feed: Feed) =>
    order(feed) === 0 || performance.now() - order(feed) >= (last.get(feed.id)?.restMs ?? 0);
  /** The feeds as they are defined now, without those that are deleted, disabled, or no longer read. */
  const dueFeeds = () => [...options.made(), ...read.values()].filter((feed) => options.isActive(feed) && isDue(feed));
  const letOthersGoFirst = async () => {
    const end = performance.now() + MAX_YIELD_MS;
    while (options.isBusy() && performance.now() < end && !stopping.signal.aborted) await sleep(100);
  };
  const refreshQueued = async (id: string) => {
    await letOthersGoFirst();
    queued.delete(id);
    // It may have changed while it waited for its lane; a request that waits for it refreshes it itself.
    const feed = stopping.signal.aborted ? undefined : dueFeeds().find((due) => due.id === id);
    if (feed === undefined || share.has(keyOf(feed))) return;
    await share(keyOf(feed), () => begin(feed, REFRESH_AFTER_MS));
  };

  return {
    refresh: (feed, maxAgeMs) => share(keyOf(feed), () => runInLane(laneOf(feed, true), () => begin(feed, maxAgeMs))),
    noteRead: (feed) => void read.set(feed.id, feed),
    async look() {
      const made = new Set(options.made().map(({ id }) => id));
      for (const id of last.keys()) if (!made.has(id) && !read.has(id)) last.delete(id);
      for (const feed of dueFeeds().sort((one, other) => order(one) - order(other))) {
        if (queued.has(feed.id)) continue;
        queued.add(feed.id);
        // onRefresh hears of its failure; the other feeds are refreshed all the same.
        runInLane(laneOf(feed, order(feed) === 0), () => refreshQueued(feed.id)).catch(() => {});
      }
    },
    health: (feedId) => last.get(feedId),
    mostAttackers: () => Math.max(0, ...Array.from(last.values(), ({ attackers }) => attackers)),
    async stop() {
      stopping.abort();
      await share.settled();
    },
  };
}

const NEVER: RefreshHealth = { refreshedAt: 0, count: 0, failures: 0, fellFrom: 0, attackers: 0 };
