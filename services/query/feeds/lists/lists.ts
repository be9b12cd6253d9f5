import { randomUUID } from "node:crypto";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  insertRefreshes,
  type Refresh,
  type RefreshHead,
  readBases,
  readChanges,
  readFirstTime,
  readRefreshHeads,
  readSteps,
  type StoredChange,
} from "@noisefloor/clickhouse/feeds/refreshes.ts";
import {
  type AddressChanges,
  applyChanges,
  composeChanges,
  NO_CHANGES,
} from "@noisefloor/domain/feeds/address-changes.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { isKept, pathBetween, readChangesSince, readListAt } from "./history.ts";

/** A feed's list as its last refresh found it. */
export type FeedState = {
  readonly head: RefreshHead;
  /** When its revision was made, in milliseconds since 1970 UTC: the same in every process. */
  readonly revisedAt: number;
  /** In ascending order. */
  readonly addresses: Uint32Array;
  /** The latest changes, the oldest first: most readers are a few revisions behind. */
  readonly recent: readonly StoredChange[];
  /** When a whole list was stored last, in milliseconds since 1970 UTC. */
  readonly baseAt: number;
};

export type FeedLists = {
  /** The list that this process knows, read from the store when it has none; undefined for one never refreshed. */
  current(feedId: string): Promise<FeedState | undefined>;
  /** The newest list in the store. */
  sync(feedId: string): Promise<FeedState | undefined>;
  /**
   * Reads of the lists in memory what other processes have refreshed.
   * @throws AggregateError when some of them cannot be read: the others are read.
   */
  poll(): Promise<void>;
  /** Stores a refresh, of which `state` is the result. @returns the list that counts: a newer one may be known. */
  write(refresh: Refresh, state: FeedState): Promise<FeedState>;
  /**
   * How a list differs from what it was at a revision.
   * @returns undefined for a revision that is not known, or was replaced more than seven days ago.
   */
  changesSince(state: FeedState, since: string): Promise<AddressChanges | undefined>;
};

export type FeedListsOptions = {
  readonly client: ClickHouseClient;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Of the lists that stay in memory; others are read again when they are needed. */
  readonly maxBytes?: number;
};

const MAX_BYTES = 128 * 1024 * 1024;
const MAX_RECENT_ADDRESSES = 50_000;
/** Feeds that are in use were refreshed within a minute; an hour leaves time for clocks that differ. */
const POLLED_MS = HOUR_MS;

/**
 * When a list may be made that follows one of this time. Two lists of a feed are never of one second: the serial numbers
 * of its zones are seconds. Both in milliseconds since 1970 UTC.
 */
export const nextSecond = (time: number) => (Math.floor(time / 1_000) + 1) * 1_000;

/** Of two refreshes of a feed the one with the newer basis counts, then the later one. */
function isNewer(one: RefreshHead, other: RefreshHead): boolean {
  if (one.basis !== other.basis) return one.basis > other.basis;
  if (one.refreshedAt !== other.refreshedAt) return one.refreshedAt > other.refreshedAt;
  return one.revision > other.revision;
}

export function openFeedLists({ client, now, maxBytes = MAX_BYTES }: FeedListsOptions): FeedLists {
  /** Those used last at the end. */
  const states = new Map<string, FeedState>();
  let bytes = 0;
  const drop = (feedId: string) => {
    bytes -= states.get(feedId)?.addresses.byteLength ?? 0;
    states.delete(feedId);
  };
  const keep = (state: FeedState) => {
    drop(state.head.feedId);
    states.set(state.head.feedId, state);
    bytes += state.addresses.byteLength;
    for (const feedId of states.keys()) {
      if (bytes <= maxBytes || feedId === state.head.feedId) break;
      drop(feedId);
    }
    return state;
  };

  /** @returns undefined when the list cannot be made of what is stored. */
  const read = async (head: RefreshHead, known: FeedState | undefined): Promise<FeedState | undefined> => {
    if (known?.head.revision === head.revision) return { ...known, head };
    if (known !== undefined) {
      const changes = await readChanges(client, head.feedId, known.head.refreshedAt, head.refreshedAt);
      const path = pathBetween(changes, { from: (one) => one === known.head.revision, to: head.revision });
      const last = path?.at(-1);
      if (path !== undefined && last !== undefined) {
        const addresses = applyChanges(known.addresses, path);
        const recent = latest([...known.recent, ...path]);
        return { head, revisedAt: last.refreshedAt, addresses, recent, baseAt: known.baseAt };
      }
    }
    const addresses = await readListAt(client, head.feedId, head.revision);
    if (addresses === undefined) return undefined;
    const [[base], revisedAt = head.refreshedAt] = await Promise.all([
      readBases(client, head.feedId),
      readFirstTime(client, head.feedId, head.revision),
    ]);
    return { head, revisedAt, addresses, recent: [], baseAt: base?.refreshedAt ?? 0 };
  };
  const sync = async (feedId: string) => {
    const known = states.get(feedId);
    const [head] = await readRefreshHeads(client, 0, [feedId]);
    const state = head && (await read(head, known));
    // Another call may have found a newer one meanwhile.
    const found = states.get(feedId);
    if (found !== undefined && found !== known && state !== undefined && !isNewer(state.head, found.head)) return found;
    if (state !== undefined) return keep(state);
    drop(feedId);
    return undefined;
  };

  const write: FeedLists["write"] = async (refresh, state) => {
    const { feedId, revision, refreshedAt } = refresh;
    await insertRefreshes(client, [refresh]);
    const isChange = revision !== refresh.parent;
    const lists = isChange ? await readSteps(client, feedId, nextSecond(refreshedAt) - 1_000) : [];
    const others = lists.filter((list) => list.revision !== revision);
    if (others.length > 0) {
      // Another process stored a list meanwhile and may answer it: the list that counts becomes the latest of them.
      const [newest] = await readRefreshHeads(client, 0, [feedId]);
      if (newest?.revision !== revision) return (await sync(feedId)) ?? keep(state);
      const later = nextSecond(Math.max(refreshedAt, ...others.map((list) => list.refreshedAt)));
      const made = { revision: String(randomUUID()), parent: revision, refreshedAt: later };
      const change = { ...made, added: new Uint32Array(), removed: new Uint32Array() };
      const head = { ...state.head, ...made };
      return write(
        { ...head, ...change, base: undefined },
        { ...state, head, revisedAt: later, recent: [...state.recent, change] },
      );
    }
    // The list of a newer definition may have been stored meanwhile.
    const known = states.get(feedId);
    if (known !== undefined && isNewer(known.head, refresh)) return known;
    return keep({ ...state, recent: latest(state.recent) });
  };

  return {
    sync,
    write,
    async current(feedId) {
      const known = states.get(feedId);
      return known === undefined ? sync(feedId) : keep(known);
    },
    async poll() {
      if (states.size === 0) return;
      const errors: unknown[] = [];
      for (const head of await readRefreshHeads(client, now() - POLLED_MS)) {
        const known = states.get(head.feedId);
        if (known === undefined || !isNewer(head, known.head)) continue;
        try {
          const state = await read(head, known);
          if (state !== undefined && states.get(head.feedId) === known) keep(state);
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, `${errors.length} lists of feeds cannot be read`);
    },
    async changesSince({ head, addresses, recent }, since) {
      if (since === head.revision) return NO_CHANGES;
      const path = pathBetween(recent, { from: (one) => one === since, to: head.revision });
      const [next] = path ?? [];
      if (path !== undefined && next !== undefined) {
        return isKept(next.refreshedAt, now()) ? composeChanges(path) : undefined;
      }
      const { feedId, revision } = head;
      return readChangesSince(client, { feedId, since, revision, addresses, now: now() });
    },
  };
}

/** The last of some changes, as many as stay in memory. */
function latest(changes: readonly StoredChange[]): readonly StoredChange[] {
  let left = MAX_RECENT_ADDRESSES;
  let first = changes.length;
  while (first > 0) {
    const { added, removed } = changes[first - 1] ?? NO_CHANGES;
    // An empty one takes memory, too.
    left -= added.length + removed.length + 50;
    if (left < 0) break;
    first--;
  }
  return changes.slice(first);
}
