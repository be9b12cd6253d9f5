import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  insertRefresh,
  type RefreshHead,
  readBases,
  readRefreshHeads,
  readRevisions,
  readSteps,
  type StoredRevision,
} from "@noisefloor/clickhouse/feeds/refreshes.ts";
import {
  applyRevisions,
  composeChanges,
  type HostChanges,
  NO_CHANGES,
  sizeOfChanges,
} from "@noisefloor/domain/feeds/address-changes.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { LRUCache } from "lru-cache";
import { type FeedState, nextRevisionTime, revise } from "./feed-state.ts";
import { isKept, pathBetween, pathTo, readChangesSince, readListAt } from "./history.ts";
import { addressesToRenew } from "./siblings.ts";

export type FeedLists = {
  /** The list that this process knows, read from the store when it has none; undefined for one never refreshed. */
  current(feedId: string): Promise<FeedState | undefined>;
  /** The newest list in the store. */
  sync(feedId: string): Promise<FeedState | undefined>;
  /**
   * Updates the lists in memory with refreshes made by other processes.
   * @throws AggregateError when some of them cannot be read: the others are read.
   */
  poll(): Promise<void>;
  /**
   * Stores the result of a refresh.
   * @param isBase whether the whole list is stored with it.
   * @returns the list that counts: that of another process may be newer.
   */
  write(state: FeedState, isBase: boolean): Promise<FeedState>;
  /**
   * How a list differs from what it was at a revision.
   * @returns undefined for a revision that is not known, or was replaced more than seven days ago.
   */
  changesSince(state: FeedState, since: string): Promise<HostChanges | undefined>;
};

export type FeedListsOptions = {
  readonly client: ClickHouseClient;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Max memory of the lists that are kept; others are read again when they are needed. */
  readonly maxBytes?: number;
};

const MAX_BYTES = 128 * 1024 * 1024;
const MAX_RECENT_HOSTS = 50_000;
/** A name and what points to it. */
const NAME_BYTES = 64;
/** Feeds that are in use were refreshed within a minute; an hour leaves time for clocks that differ. */
const POLLED_MS = HOUR_MS;
/** For how long a revision of a process that was killed after it stored it may wait for the one that renews it. */
const SIBLINGS_MS = HOUR_MS;

/** Whether a refresh counts more than another one of its feed: the newer basis counts, then the later time. */
function isNewer(one: RefreshHead, other: RefreshHead): boolean {
  if (one.basis !== other.basis) return one.basis > other.basis;
  if (one.refreshedAt !== other.refreshedAt) return one.refreshedAt > other.refreshedAt;
  return one.revision > other.revision;
}

export function openFeedLists({ client, now, maxBytes = MAX_BYTES }: FeedListsOptions): FeedLists {
  const states = new LRUCache<string, FeedState>({
    maxSize: maxBytes,
    sizeCalculation: ({ addresses, versions, names }) =>
      addresses.byteLength + versions.byteLength + names.length * NAME_BYTES + 1,
  });
  const keep = (state: FeedState) => {
    states.set(state.head.feedId, { ...state, recent: latest(state.recent) });
    return state;
  };

  /** @returns undefined when the list cannot be made of what is stored. */
  const read = async (head: RefreshHead, known: FeedState | undefined): Promise<FeedState | undefined> => {
    if (known?.head.revision === head.revision) return { ...known, head };
    if (known !== undefined) {
      const times = { since: known.head.refreshedAt, until: head.refreshedAt };
      const revisions = await readRevisions(client, head.feedId, times, true);
      const path = pathBetween(revisions, { from: (each) => each === known.head.revision, to: head.revision });
      if (path !== undefined) {
        return { ...known, ...applyRevisions(known, path), head, recent: [...known.recent, ...path] };
      }
    }
    const list = await readListAt(client, head.feedId, head.revision);
    if (list === undefined) return undefined;
    const [base] = await readBases(client, head.feedId);
    return { ...list, head, recent: [], baseAt: base?.refreshedAt ?? 0 };
  };
  const sync = async (feedId: string) => {
    const known = states.peek(feedId);
    // Newer refreshes may be as of an earlier time, by another clock.
    const since = known === undefined ? 0 : known.head.refreshedAt - SIBLINGS_MS;
    const [head] = await readRefreshHeads(client, since, [feedId]);
    const state = head && (await read(head, known));
    // Another call may have found a newer one meanwhile.
    const other = states.peek(feedId);
    if (other !== undefined && other !== known && state !== undefined && !isNewer(state.head, other.head)) return other;
    if (state !== undefined) return keep(state);
    states.delete(feedId);
    return undefined;
  };

  /**
   * Other processes may have made revisions of the same parents and answered them. The newest of all counts, and renews
   * what they said.
   */
  const renewSiblings = async (written: FeedState): Promise<FeedState> => {
    const { feedId } = written.head;
    const since = (states.peek(feedId) ?? written).head.refreshedAt - SIBLINGS_MS;
    const siblingsOf = async ({ head }: FeedState) => {
      const steps = await readSteps(client, feedId, since);
      const isOnPath = new Set(pathTo(steps, head.revision).map(({ revision }) => revision));
      return steps.filter(({ revision }) => !isOnPath.has(revision));
    };
    if ((await siblingsOf(written)).length === 0) return keep(written);
    const state = (await sync(feedId)) ?? keep(written);
    const siblings = await siblingsOf(state);
    const until = Math.max(state.head.refreshedAt, ...siblings.map((step) => step.refreshedAt));
    const revisions = await readRevisions(client, feedId, { since, until }, true);
    const { renewed, isOvertaken } = addressesToRenew(state, siblings, revisions);
    if (renewed.length === 0 && !isOvertaken) return state;
    const newest = Math.max(state.head.revisedAt, ...siblings.map((step) => step.revisedAt));
    const revision = { ...NO_CHANGES, renewed, revisedAt: nextRevisionTime(now(), newest) };
    return write(revise(feedId, state, revision, { ...state.head, refreshedAt: until + 1 }, true), false);
  };
  const write: FeedLists["write"] = async (state, isBase) => {
    const { revision, parent, refreshedAt } = state.head;
    const change = revision === parent ? undefined : state.recent.at(-1);
    const revised = { ...NO_CHANGES, renewed: NO_CHANGES.added, ...change };
    await insertRefresh(client, { ...revised, ...state.head, base: isBase ? state : undefined });
    return renewSiblings(isBase ? { ...state, baseAt: refreshedAt } : state);
  };

  return {
    sync,
    write,
    current: async (feedId) => states.get(feedId) ?? sync(feedId),
    async poll() {
      if (states.size === 0) return;
      const errors: unknown[] = [];
      for (const head of await readRefreshHeads(client, now() - POLLED_MS)) {
        const known = states.peek(head.feedId);
        if (known === undefined || !isNewer(head, known.head)) continue;
        try {
          const state = await read(head, known);
          if (state !== undefined && states.peek(head.feedId) === known) keep(state);
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, `${errors.length} lists of feeds cannot be read`);
    },
    async changesSince({ head, addresses, names, recent }, since) {
      if (since === head.list) return NO_CHANGES;
      const path = pathBetween(recent, { from: (each) => each === since, to: head.revision });
      if (path !== undefined) {
        const replaced = path.find((step) => sizeOfChanges(step) > 0);
        return replaced === undefined || isKept(replaced.revisedAt, now()) ? composeChanges(path) : undefined;
      }
      const { feedId, revision } = head;
      return readChangesSince(client, { feedId, since, revision, addresses, names, now: now() });
    },
  };
}

/** The last of some revisions, as many as stay in memory, without the addresses that they renewed. */
function latest(revisions: readonly StoredRevision[]): readonly StoredRevision[] {
  let left = MAX_RECENT_HOSTS;
  let first = revisions.length;
  while (first > 0) {
    // An empty one takes memory, too.
    left -= sizeOfChanges(revisions[first - 1] ?? NO_CHANGES) + 50;
    if (left < 0) break;
    first--;
  }
  return revisions.slice(first).map((revision) => ({ ...revision, renewed: NO_CHANGES.added }));
}
