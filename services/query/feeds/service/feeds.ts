import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { FeedCache } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { NO_WORKSPACE } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import type { Plans } from "@noisefloor/domain/access/plan.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { type FindKnownHost, knownHostFinder } from "@noisefloor/domain/callbacks/known-hosts.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { BenignNetworks } from "../../address/benign-networks.ts";
import type { LookupDeps } from "../../address/store-lookup.ts";
import { callerWithLimits } from "../../auth.ts";
import { createGuard, type FindGuard, type GuardReason } from "../guard/guard.ts";
import type { FeedState } from "../lists/feed-state.ts";
import { type FeedLists, openFeedLists } from "../lists/lists.ts";
import { type FeedBasis, isCurrent, refreshFeed, STALE_MS } from "../lists/refresh.ts";
import { type GuardedAddress, searchFeed } from "../lists/search-feed.ts";
import { type FeedRegistry, openRegistry } from "./registry.ts";
import { openSchedule, REFRESH_AFTER_MS, type RefreshHealth, type Schedule, type ScheduleOptions } from "./schedule.ts";
import { openTokenUses, type TokenSummary, type TokenUses } from "./token-uses.ts";

export type FeedsOptions = LookupDeps &
  Pick<ScheduleOptions, "maxSeconds"> &
  Partial<Pick<ScheduleOptions, "isBusy" | "onRefresh">> & {
    /** Its user may write the tables of feeds. */
    readonly client: ClickHouseClient;
    readonly cache: FeedCache;
    readonly catalogue: TagCatalogue;
    readonly networks: LookupDeps["networks"] & { current(): BenignNetworks };
    readonly accessCache: Pick<AccessCache, "callerOfWorkspace" | "tokensOf">;
    readonly plans: Plans;
    readonly ownAddresses: readonly string[];
    /** Whether ready-made feeds list what could be forged, too. */
    readonly listsSpoofable: boolean;
    /** How often the feeds are looked through; without it they are refreshed when they are asked for alone. */
    readonly lookEveryMs?: number;
    /** Called when the looks begin to fail: lists that other processes refreshed cannot be read, say. */
    readonly onLookError?: (error: unknown) => void;
    /** Called when the uses of tokens begin to be lost. */
    readonly onTokenUseError?: (error: unknown) => void;
  };

export type FeedHealth = RefreshHealth & TokenSummary & { readonly feed: Feed };

export type Feeds = FeedRegistry &
  Pick<Schedule, "mostAttackers"> & {
    readonly lists: FeedLists;
    readonly tokenUses: TokenUses;
    guardOf(workspaceId: string): FindGuard;
    /** Tells well-known hosts from those that a workspace's lists of callbacks may have. */
    knownHostsOf(workspaceId: string | undefined): FindKnownHost<GuardReason>;
    /**
     * The list of a feed: while its refresh fails, the last one.
     * @returns undefined before the first refresh.
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
    stop(): Promise<void>;
  };

/** The feeds of a process, and where their definitions are read and written. */
export type FeedsService = {
  readonly feeds: Feeds;
  readonly cache: FeedCache;
  /** Its user may write the tables of feeds. */
  readonly client: ClickHouseClient;
};

const TOKEN_USES_MS = 60_000;

export function openFeeds(options: FeedsOptions): Feeds {
  const { client, cache, accessCache, networks, ownAddresses, now, lookEveryMs, onLookError = () => {} } = options;
  const registry = openRegistry(cache, options.catalogue, options.listsSpoofable);
  const lists = openFeedLists({ client, now });
  const tokenUses = openTokenUses({
    ...{ client, now, onError: options.onTokenUseError ?? (() => {}) },
    everyMs: lookEveryMs === undefined ? undefined : TOKEN_USES_MS,
  });
  const withLimits = callerWithLimits(options.plans);

  const guardOf = (workspaceId: string) =>
    createGuard({ networks: networks.current(), ownAddresses, guardNetworks: cache.guardOf(workspaceId).networks });
  // Nothing that a sensor saw says whether a host that was named is benign, so an actor's network always guards it.
  const knownHostsOf = (workspaceId = NO_WORKSPACE) => {
    const guard = guardOf(workspaceId);
    return knownHostFinder(cache.knownHostsOf(workspaceId).hosts, (host) => guard(ipv4ToNumber(host), false));
  };
  const guardChangedAt = (feed: Feed, workspaceId: string) =>
    feed.isGuarded ? cache.guardOf(workspaceId).changedAt : 0;
  const knownChangedAt = ({ of, workspaceId }: Feed) =>
    of === "callbacks" ? cache.knownHostsOf(workspaceId).changedAt : 0;
  const basisOf = (feed: Feed) =>
    Math.max(feed.updatedAt, guardChangedAt(feed, feed.workspaceId), knownChangedAt(feed));
  /** Whether a list is one of this feed, not of one before it with its name, and was made with these OWN_ADDRESSES. */
  const isOurs = (feed: Feed, { head }: FeedState) =>
    head.basis >= Math.max(feed.createdAt, guardChangedAt(feed, NO_WORKSPACE));
  /** @throws when the workspace of the feed was deleted. */
  const ownerOf = (feed: Feed): FeedBasis => {
    const caller = accessCache.callerOfWorkspace(feed.workspaceId);
    if (caller === undefined) throw new RangeError(`the feed ${feed.name} belongs to no workspace`);
    const guard = feed.isGuarded ? guardOf(feed.workspaceId) : undefined;
    const findKnownHost = knownHostsOf(feed.workspaceId);
    return { caller: withLimits(caller), guard, findKnownHost, basis: basisOf(feed) };
  };
  const made = () => cache.feeds().map((feed) => ({ ...feed, isReadyMade: false }));
  const schedule = openSchedule({
    made,
    isActive: (feed) => feed.isEnabled && accessCache.callerOfWorkspace(feed.workspaceId) !== undefined,
    basisOf,
    refresh: (feed, maxAgeMs, signal) => refreshFeed(feed, ownerOf(feed), { ...options, lists, maxAgeMs }, signal),
    maxSeconds: options.maxSeconds,
    isBusy: options.isBusy ?? (() => false),
    onRefresh: options.onRefresh ?? (() => {}),
  });
  const looks = [schedule.look, lists.poll].map((act) =>
    repeatEvery(act, { everyMs: lookEveryMs, onError: onLookError }),
  );

  return {
    ...registry,
    lists,
    tokenUses,
    guardOf,
    knownHostsOf,
    mostAttackers: schedule.mostAttackers,
    async stateOf(feed, signal) {
      if (feed.isReadyMade) schedule.noteRead(feed);
      const known = await lists.current(feed.id);
      const state = known && isOurs(feed, known) ? known : undefined;
      if (state !== undefined && isCurrent(state.head, basisOf(feed), now(), STALE_MS)) return state;
      // Others wait for a refresh of the looks: readers get the last list meanwhile.
      if (state !== undefined && !feed.isReadyMade && lookEveryMs !== undefined) return state;
      const aborted = new Promise<undefined>((settle) => signal.addEventListener("abort", () => settle(undefined)));
      return Promise.race([schedule.refresh(feed, REFRESH_AFTER_MS).catch(() => state), aborted]);
    },
    refresh: (feed) => schedule.refresh(feed, 0),
    async readGuarded(feed, signal) {
      const { guarded } = await searchFeed(feed, ownerOf(feed), options, signal);
      return guarded.toSorted((one, other) => one.address - other.address);
    },
    health: () =>
      made().flatMap((feed) => {
        const health = feed.isEnabled ? schedule.health(feed.id) : undefined;
        return health ? [{ feed, ...health, ...tokenUses.summarize(accessCache.tokensOf(feed.id)) }] : [];
      }),
    async stop() {
      await Promise.all([schedule, tokenUses, ...looks].map((each) => each.stop()));
    },
  };
}
