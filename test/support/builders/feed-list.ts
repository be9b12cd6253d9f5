import type { RefreshHead } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { changesBetween, NO_CHANGES } from "@noisefloor/domain/feeds/address-changes.ts";
import type { FeedState } from "@noisefloor/query/feeds/lists/feed-state.ts";
import { nextRevisionTime, revise } from "@noisefloor/query/feeds/lists/feed-state.ts";
import type { FeedLists } from "@noisefloor/query/feeds/lists/lists.ts";

type ListOptions = Partial<Pick<RefreshHead, "basis">> & {
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
  readonly renewed?: Uint32Array;
};

/** What a refresh that found these addresses stores after an earlier one. */
export function makeState(
  feedId: string,
  before: FeedState | undefined,
  addresses: Uint32Array,
  { now, basis = before?.head.basis ?? 0, renewed = new Uint32Array() }: ListOptions,
): FeedState {
  const { revisedAt = 0, refreshedAt = 0 } = before?.head ?? {};
  const changes = { ...NO_CHANGES, ...changesBetween(before?.addresses ?? new Uint32Array(), addresses) };
  const marks = {
    guarded: 0,
    heldBack: 0,
    leftOutSpoofable: 0,
    kept: 0,
    fellFrom: 0,
    fellAt: 0,
    isTruncated: false,
    tookMs: 1,
  };
  return revise(
    feedId,
    before,
    { ...changes, renewed, revisedAt: nextRevisionTime(now, revisedAt) },
    { ...marks, basis, refreshedAt: Math.max(now, refreshedAt + 1) },
  );
}

/** Stores a list as the next refresh of a feed, without a search. */
export async function storeList(
  lists: FeedLists,
  feedId: string,
  addresses: Uint32Array,
  options: ListOptions,
): Promise<FeedState> {
  const before = await lists.sync(feedId);
  return lists.write(makeState(feedId, before, addresses, options), before === undefined);
}
