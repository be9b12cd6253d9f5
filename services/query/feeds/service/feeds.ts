import { setTimeout as sleep } from "node:timers/promises";
import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { FeedCache } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { NO_WORKSPACE } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import type { Plans } from "@noisefloor/domain/access/plan.ts";
import { type FeedDefinition, feedIdOf } from "@noisefloor/domain/feeds/feed-definition.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { BenignNetworks } from "../../address/benign-networks.ts";
import type { LookupDeps } from "../../address/store-lookup.ts";
import { callerWithLimits } from "../../auth.ts";
import { createLanes } from "../concurrency.ts";
import { createGuard, type FindGuard } from "../guard/guard.ts";
import type { FeedState } from "../lists/feed-state.ts";
import { type FeedLists, openFeedLists } from "../lists/lists.ts";
import { type FeedBasis, isCurrent, refreshFeed, STALE_MS } from "../lists/refresh.ts";
import { type Feed, type GuardedAddress, searchFeed } from "../lists/search-feed.ts";
import { readyMadeFeed } from "./ready-made.ts";
import { openTokenUses, type TokenSummary, type TokenUses } from "./token-uses.ts";

export type FeedsOptions = LookupDeps & {
  /** Of a user who may write the tables of feeds. */
  readonly client: ClickHouseClient;
  readonly cache: FeedCache;
  readonly catalogue: TagCatalogue;
  readonly networks: LookupDeps["networks"] & { current(): BenignNetworks };
  readonly accessCache: Pick<AccessCache, "callerOfWorkspace" | "tokensOf">;
  readonly plans: Plans;
  readonly ownAddresses: readonly string[];
  /** The server ends a refresh that takes longer. */
  readonly maxSeconds: number;
  /** How often the feeds are looked through; without it they are refreshed when they are asked for alone. */
  readonly lookEveryMs?: number;
  /** Whether queries of callers wait for their turn: refreshes let them go first. */
  readonly isBusy?: () => boolean;
  /** Called with a refresh that failed, and with those that succeed again. */
  readonly onRefresh?: (feed: Feed, error: unknown) => void;
  /** Called when the looks begin to fail: lists that other processes refreshed cannot be read, say. */
  readonly onLookError?: (error: unknown) => void;
  /** Called when the uses of tokens begin to be lost. */
  readonly onTokenUseError?: (error: unknown) => void;
};

export type Feeds = {
  readonly lists: FeedLists;
  readonly tokenUses: TokenUses;
  /** A feed that a user made, or a ready-made one. */
  find(workspaceId: string, name: string): Feed | undefined;
  findById(id: string): Feed | undefined;
  /** Those that users of a workspace made. */
  ofWorkspace(workspaceId: string): readonly Feed[];
  guardOf(workspaceId: string): FindGuard;
  /**
   * The list of a feed: while its refresh fails, the last one.
   * @returns undefined when there is none yet.
   */
  stateOf(feed: Feed, signal: AbortSignal): Promise<FeedState | undefined>;
  /**
   * Refreshes a feed unless its list is as new as its definition. Calls at the same time share a refresh. Few feeds are
   * refreshed at the same time: the others wait, and workspaces take turns.
   */
  refresh(feed: Feed): Promise<FeedState>;
  /** The addresses that a feed would list now if they were not guarded, in ascending order, with the reason of each. */
  readGuarded(feed: Feed, signal: AbortSignal): Promise<readonly GuardedAddress[]>;
  /** How the feeds that users made, and that this process refreshes, are. */
  health(): readonly FeedHealth[];
  /** Of the feeds that this process refreshed, the most addresses that a guard held back although they attacked. */
  mostAttackersHeldBack(): number;
  stop(): Promise<void>;
};

export type FeedHealth = TokenSummary & {
  readonly feed: FeedDefinition;
  /** Milliseconds since 1970 UTC; when it was defined, before its first refresh. */
  readonly refreshedAt: number;
  /** How many addresses it lists. */
  readonly count: number;
  /** Refreshes that failed in a row. */
  readonly failures: number;
  /** How many it listed before it lost half of them at one refresh; 0 when it did not. */
  readonly fellFrom: number;
};

/** The feeds of a process, and where their definitions are read and written. */
export type FeedsService = {
  readonly feeds: Feeds;
  readonly cache: FeedCache;
  /** Of a user who may write the tables of feeds. */
  readonly client: ClickHouseClient;
};

/** Every feed is refreshed at least once a minute. */
const REFRESH_AFTER_MS = 45_000;
const TOKEN_USES_MS = 60_000;
/** For how long a ready-made feed is refreshed after it was last read. */
const KEPT_AFTER_READ_MS = 15 * 60_000;
/** Max pause after a refresh that failed or took long. */
const MAX_REST_MS = 5 * 60_000;
/** How many times as long as its refresh took a feed rests. */
const RESTS = { afterSuccess: 4, afterFailure: 10 } as const;
/** Refreshes at the same time: quick ones always find a lane, and so does every workspace beside another. */
const MAX_REFRESHES = { all: 4, owner: 3, slow: 2 } as const;
/** A refresh that took longer counts as slow the next time. */
const SLOW_MS = 2_000;
/** The last refresh of a feed: when it ended, by `performance.now()`, and how long the feed rests then. */
type Looked = { readonly at: number; readonly basis: number; readonly tookMs: number; readonly restMs: number };

/** How long a refresh lets queries of callers go first. */
const MAX_YIELD_MS = 5_000;

export function openFeeds(options: FeedsOptions): Feeds {
  const { client, cache, accessCache, networks, ownAddresses, now } = options;
  const { onRefresh = () => {}, onLookError = () => {}, lookEveryMs } = options;
  const lists = openFeedLists({ client, now });
  const tokenUses = openTokenUses({
    ...{ client, now, onError: options.onTokenUseError ?? (() => {}) },
    everyMs: lookEveryMs === undefined ? undefined : TOKEN_USES_MS,
  });
  const withLimits = callerWithLimits(options.plans);
  const stopping = new AbortController();
  const running = new Map<string, Promise<FeedState>>();
  /** The ready-made feeds that are read, and when, in milliseconds of `performance.now()`, as the next. */
  const read = new Map<string, { readonly feed: Feed; readonly at: number }>();
  const looked = new Map<string, Looked>();

  const attackers = new Map<string, number>();
  const healths = new Map<string, Omit<FeedHealth, "feed" | keyof TokenSummary>>();

  const guardOf = (workspaceId: string) =>
    createGuard({
      networks: networks.current(),
      ownAddresses,
      guardNetworks: cache.guardOf(workspaceId).networks,
    });
  const basisOf = (feed: Feed) =>
    Math.max(feed.updatedAt, feed.isGuarded ? cache.guardOf(feed.workspaceId).changedAt : 0);
  /** Whether a list is one of this feed, not of one before it with its name, and was made with these OWN_ADDRESSES. */
  const isOurs = (feed: Feed, { head }: FeedState) =>
    head.basis >= Math.max(feed.createdAt, feed.isGuarded ? cache.guardOf(NO_WORKSPACE).changedAt : 0);
  /** @throws when the workspace of the feed was deleted. */
  const ownerOf = (feed: Feed): FeedBasis => {
    const caller = accessCache.callerOfWorkspace(feed.workspaceId);
    if (caller === undefined) throw new RangeError(`the feed ${feed.name} belongs to no workspace`);
    const guard = feed.isGuarded ? guardOf(feed.workspaceId) : undefined;
    return { caller: withLimits(caller), guard, basis: basisOf(feed) };
  };
  const start = async (feed: Feed, maxAgeMs: number): Promise<FeedState> => {
    stopping.signal.throwIfAborted();
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(options.maxSeconds * 1_000)]);
    const owner = ownerOf(feed);
    const begin = performance.now();
    const note = (tookMs: number, times: number) => {
      // One that takes long must not keep the others waiting again and again.
      const restMs = Math.max(REFRESH_AFTER_MS, Math.min(MAX_REST_MS, times * tookMs));
      looked.set(feed.id, { at: performance.now(), basis: owner.basis, tookMs, restMs });
    };
    try {
      const onGuarded = (guarded: readonly GuardedAddress[]) =>
        attackers.set(feed.id, guarded.filter(({ hasAttacked }) => hasAttacked).length);
      const state = await refreshFeed(feed, owner, { ...options, lists, maxAgeMs, onGuarded }, signal);
      note(state.head.tookMs, RESTS.afterSuccess);
      const { refreshedAt, count, fellFrom } = state.head;
      healths.set(feed.id, { refreshedAt, count, failures: 0, fellFrom });
      onRefresh(feed, undefined);
      return state;
    } catch (error) {
      note(performance.now() - begin, RESTS.afterFailure);
      const known = healths.get(feed.id) ?? { refreshedAt: feed.updatedAt, count: 0, failures: 0, fellFrom: 0 };
      healths.set(feed.id, { ...known, failures: known.failures + 1 });
      onRefresh(feed, error);
      throw error;
    }
  };
  const runInLane = createLanes(MAX_REFRESHES);
  const isSlow = ({ id }: Feed) => (looked.get(id)?.tookMs ?? 0) > SLOW_MS;
  // One that is under way may have begun before the change that the caller wants to see.
  const keyOf = (feed: Feed) => `${feed.id} ${basisOf(feed)}`;
  const share = (feed: Feed, started: Promise<FeedState>): Promise<FeedState> => {
    const key = keyOf(feed);
    const shared = started.finally(() => running.delete(key));
    running.set(key, shared);
    return shared;
  };
  const refresh = (feed: Feed, maxAgeMs = 0): Promise<FeedState> => {
    const lane = { owner: feed.workspaceId, isSlow: isSlow(feed), isUrgent: true };
    return (
      running.get(keyOf(feed)) ??
      share(
        feed,
        runInLane(lane, () => start(feed, maxAgeMs)),
      )
    );
  };

  const isDue = (feed: Feed) => {
    const last = looked.get(feed.id);
    return last === undefined || last.basis !== basisOf(feed) || performance.now() - last.at >= last.restMs;
  };
  /** The feed as it is defined now; undefined for one that is deleted, disabled, or no longer read. */
  const dueFeed = (id: string): Feed | undefined => {
    const made = cache.feedById(id);
    const feed = made === undefined ? read.get(id)?.feed : { ...made, isReadyMade: false };
    if (!feed?.isEnabled || accessCache.callerOfWorkspace(feed.workspaceId) === undefined) return undefined;
    return isDue(feed) ? feed : undefined;
  };
  /** Changed feeds and guards come first, then the lists that are oldest. */
  const order = (feed: Feed) => {
    const last = looked.get(feed.id);
    return last === undefined || last.basis !== basisOf(feed) ? 0 : last.at;
  };
  const dueFeeds = (): Feed[] => {
    for (const [id, { at }] of read) if (performance.now() - at > KEPT_AFTER_READ_MS) read.delete(id);
    return [...cache.feeds().map(({ id }) => id), ...read.keys()]
      .flatMap((id) => dueFeed(id) ?? [])
      .sort((one, other) => order(one) - order(other));
  };
  const letOthersGoFirst = async () => {
    const end = performance.now() + MAX_YIELD_MS;
    while (options.isBusy?.() && performance.now() < end && !stopping.signal.aborted) await sleep(100);
  };
  /** Feeds that wait for a lane in the background. */
  const queued = new Set<string>();
  const refreshQueued = async (id: string) => {
    await letOthersGoFirst();
    queued.delete(id);
    // It may have changed while it waited for its lane; a request that waits for it refreshes it itself.
    const feed = stopping.signal.aborted ? undefined : dueFeed(id);
    if (feed !== undefined && !running.has(keyOf(feed))) await share(feed, start(feed, REFRESH_AFTER_MS));
  };
  const look = async () => {
    for (const feed of dueFeeds()) {
      if (queued.has(feed.id)) continue;
      queued.add(feed.id);
      const lane = { owner: feed.workspaceId, isSlow: isSlow(feed), isUrgent: order(feed) === 0 };
      // Its failure is told to onRefresh; the others are refreshed all the same.
      runInLane(lane, () => refreshQueued(feed.id)).catch(() => {});
    }
  };
  const looks = [look, lists.poll].map((act) => repeatEvery(act, { everyMs: lookEveryMs, onError: onLookError }));

  return {
    lists,
    tokenUses,
    find(workspaceId, name) {
      const feed = cache.feedById(feedIdOf(workspaceId, name));
      return feed ? { ...feed, isReadyMade: false } : readyMadeFeed(workspaceId, name, options.catalogue);
    },
    findById(id) {
      const feed = cache.feedById(id);
      return feed && { ...feed, isReadyMade: false };
    },
    ofWorkspace: (workspaceId) =>
      cache.feeds().flatMap((feed) => (feed.workspaceId === workspaceId ? [{ ...feed, isReadyMade: false }] : [])),
    guardOf,
    async stateOf(feed, signal) {
      if (feed.isReadyMade) read.set(feed.id, { feed, at: performance.now() });
      const known = await lists.current(feed.id);
      const state = known && isOurs(feed, known) ? known : undefined;
      const isFresh = state !== undefined && isCurrent(state.head, basisOf(feed), now(), STALE_MS);
      if (isFresh) return state;
      // Others wait for a refresh of the looks: readers get the last list meanwhile.
      if (state !== undefined && !feed.isReadyMade && options.lookEveryMs !== undefined) return state;
      const aborted = new Promise<undefined>((settle) => signal.addEventListener("abort", () => settle(undefined)));
      return Promise.race([refresh(feed, REFRESH_AFTER_MS).catch(() => state), aborted]);
    },
    refresh,
    async readGuarded(feed, signal) {
      const owner = ownerOf(feed);
      const { guarded } = await searchFeed(feed, owner, options, signal);
      return guarded.toSorted((one, other) => one.address - other.address);
    },
    health: () =>
      cache.feeds().flatMap((feed) => {
        const health = feed.isEnabled ? healths.get(feed.id) : undefined;
        return health === undefined ? [] : [{ feed, ...health, ...tokenUses.summarize(accessCache.tokensOf(feed.id)) }];
      }),
    mostAttackersHeldBack() {
      for (const id of attackers.keys()) if (!cache.feedById(id) && !read.has(id)) attackers.delete(id);
      return Math.max(0, ...attackers.values());
    },
    async stop() {
      stopping.abort();
      await Promise.all([tokenUses, ...looks].map((one) => one.stop()));
      await Promise.allSettled(running.values());
    },
  };
}
