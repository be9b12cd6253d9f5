import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { RefreshHead } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import {
  changesBetween,
  nameChangesBetween,
  NO_HOSTS,
  sizeOfChanges,
} from "@noisefloor/domain/feeds/address-changes.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { SearchDeps } from "../../search/search.ts";
import { keepFallen } from "./fall.ts";
import type { FeedState } from "./feed-state.ts";
import { nextRevisionTime, revise, sizeOfList } from "./feed-state.ts";
import type { FeedLists } from "./lists.ts";
import { type FeedOwner, leaveOutGuarded, searchFeed } from "./search-feed.ts";
import { readSeenAgain } from "./seen-again.ts";

/** A whole list is stored at least once a day, with time to spare. */
const BASE_AFTER_MS = 20 * HOUR_MS;
/** Or when so many changes follow the last whole list that reading them takes longer than reading the list. */
const MAX_CHANGED_SHARE = 0.5;

/** The owner of a feed and what its list depends on, besides what is stored. */
export type FeedBasis = FeedOwner & {
  /** When the feed or the guarded networks changed last, in milliseconds since 1970 UTC. */
  readonly basis: number;
};

/** What a refresh has found or another process did a moment ago. */
export type Refreshed = {
  readonly state: FeedState;
  /** How many addresses the guard held back although they attacked; undefined without a search. */
  readonly attackers?: number;
};

/**
 * Runs a feed's search and stores what it found, unless another process did so a moment ago or knows of a later change
 * of the feed. Nothing of it is seen before all is stored.
 * @param maxAgeMs of a list that need not be refreshed.
 * @throws when the store fails: the last complete list stays.
 */
export async function refreshFeed(
  feed: Feed,
  { basis, ...owner }: FeedBasis,
  {
    lists,
    maxAgeMs,
    ...deps
  }: SearchDeps & {
    readonly client: ClickHouseClient;
    readonly lists: FeedLists;
    readonly maxAgeMs: number;
  },
  signal: AbortSignal,
): Promise<Refreshed> {
  const known = await lists.sync(feed.id);
  const now = deps.now();
  if (known !== undefined && isCurrent(known.head, basis, now, maxAgeMs)) return { state: known };
  const start = performance.now();
  const found = await searchFeed(feed, owner, deps, signal);
  const attackers = found.guarded.filter(({ hasAttacked }) => hasAttacked).length;
  const tookMs = Math.round(performance.now() - start);
  const stored = await lists.sync(feed.id);
  // Another process may have stored a list during the search, of this definition or of a later one.
  if (stored !== undefined && stored.head.refreshedAt !== known?.head.refreshedAt && stored.head.basis >= basis) {
    return { state: stored, attackers };
  }
  const isOfDefinition = stored !== undefined && stored.head.basis >= feed.updatedAt;
  const listed = await keepFallen(feed, isOfDefinition ? stored : undefined, found, now, {
    client: deps.client,
    leaveOutGuarded: (some) => leaveOutGuarded(some, owner, deps, signal),
    isHeldBack: (name) => owner.findKnownHost(name) !== undefined,
  });
  const { addresses, names, guarded, ...marks } = listed;
  const old = stored ?? NO_HOSTS;
  const changes = { ...changesBetween(old.addresses, addresses), ...nameChangesBetween(old.names, names) };
  const renewed =
    stored === undefined ? new Uint32Array() : await readSeenAgain(feed, stored, addresses, now, deps, signal);
  // Another clock may be ahead: a list that is older than this one must not count.
  const before = stored?.head ?? { basis: 0, refreshedAt: 0, revisedAt: 0 };
  const state = revise(
    feed.id,
    stored,
    { ...changes, renewed, revisedAt: nextRevisionTime(deps.now(), before.revisedAt) },
    {
      basis: Math.max(basis, before.basis),
      refreshedAt: Math.max(now, before.refreshedAt + 1),
      guarded: guarded.length,
      ...marks,
      tookMs,
    },
  );
  const isBase =
    stored === undefined ||
    state.head.refreshedAt - stored.baseAt >= BASE_AFTER_MS ||
    sizeOfChanges(changes) > sizeOfList(listed) * MAX_CHANGED_SHARE;
  return { state: await lists.write(state, isBase), attackers };
}

/** An older list is refreshed before it is answered. */
export const STALE_MS = 90_000;

/**
 * Whether a list need not be refreshed by a process with this basis. Another clock may be a little ahead. A newer
 * basis is another process's, which refreshes the list itself while it runs.
 */
export function isCurrent(head: RefreshHead, basis: number, now: number, maxAgeMs: number): boolean {
  if (head.basis < basis) return false;
  return Math.abs(now - head.refreshedAt) < (head.basis > basis ? STALE_MS : maxAgeMs);
}
