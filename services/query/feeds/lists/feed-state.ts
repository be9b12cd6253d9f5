import { randomUUID } from "node:crypto";
import { NO_REVISION, type RefreshHead, type StoredRevision } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import {
  applyRevisions,
  type HostList,
  NO_HOSTS,
  type Revision,
  sizeOfChanges,
} from "@noisefloor/domain/feeds/address-changes.ts";

/** A feed's list as its last refresh found it. */
export type FeedState = HostList & {
  readonly head: RefreshHead;
  /** The latest revisions, the oldest first: most readers are a few behind. */
  readonly recent: readonly StoredRevision[];
  /** When a whole list was stored last, in milliseconds since 1970 UTC. */
  readonly baseAt: number;
};

/**
 * When a revision may be made that follows one of this time: each is of a second of its own, by which the serial numbers
 * of zones, the states of an event of MISP and versions are told apart. It is not before now, so that a consumer who asks
 * for what came after its last request misses none. All in milliseconds since 1970 UTC.
 */
export const nextRevisionTime = (now: number, before: number) =>
  Math.max(Math.ceil(now / 1_000), Math.floor(before / 1_000) + 1) * 1_000;

/** How many hosts a list has. */
export const sizeOfList = ({ addresses, names }: Pick<HostList, "addresses" | "names">): number =>
  addresses.length + names.length;

/** What a refresh states besides the list and its names. */
export type RefreshMarks = Omit<
  RefreshHead,
  "revision" | "parent" | "revisedAt" | "list" | "listedAt" | "feedId" | "count"
>;

/**
 * A feed's list after a refresh. It has another revision if hosts came or left, or addresses were renewed.
 * @param before undefined for a first list.
 * @param isList whether the list gets another name although no host came or left.
 */
export function revise(
  feedId: string,
  before: FeedState | undefined,
  { revisedAt, ...change }: Revision,
  marks: RefreshMarks,
  isList = false,
): FeedState {
  const isChanged = isList || before === undefined || sizeOfChanges(change) > 0;
  if (before !== undefined && !isChanged && change.renewed.length === 0) {
    return { ...before, head: { ...before.head, ...marks, parent: before.head.revision } };
  }
  const revision = randomUUID();
  const parent = before?.head.revision ?? NO_REVISION;
  const named = { list: before?.head.list ?? "", listedAt: before?.head.listedAt ?? 0 };
  const step = { ...change, revisedAt, revision, parent };
  const list = applyRevisions(before ?? NO_HOSTS, [step]);
  return {
    ...list,
    head: {
      ...{ ...marks, feedId, revision, parent, revisedAt, count: sizeOfList(list) },
      ...(isChanged ? { list: revision, listedAt: revisedAt } : named),
    },
    recent: [...(before?.recent ?? []), step],
    baseAt: before?.baseAt ?? 0,
  };
}
