import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  NO_REVISION,
  readBase,
  readBases,
  readChanges,
  readFirstTime,
  readSteps,
  type StoredChange,
} from "@noisefloor/clickhouse/feeds/refreshes.ts";
import {
  type AddressChanges,
  applyChanges,
  changesBetween,
  composeChanges,
} from "@noisefloor/domain/feeds/address-changes.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";

/** For how long a cursor holds after its list was replaced. */
const KEPT_MS = 7 * DAY_MS;

/** Whether a list that was replaced at a time may still be asked about. Both in milliseconds since 1970 UTC. */
export const isKept = (replacedAt: number, now: number) => replacedAt >= now - KEPT_MS;

/**
 * The changes from a revision to a later one, in the order in which they were made; undefined when they do not lead
 * there. Revisions that two processes made of the same parent are no changes of each other.
 */
export function pathBetween<Change extends Pick<StoredChange, "revision" | "parent">>(
  changes: readonly Change[],
  { from, to }: { readonly from: (revision: string) => boolean; readonly to: string },
): readonly Change[] | undefined {
  const byRevision = new Map(changes.map((change) => [change.revision, change]));
  const path: Change[] = [];
  let revision = to;
  while (!from(revision)) {
    const change = byRevision.get(revision);
    if (change === undefined || change.parent === NO_REVISION || path.length > changes.length) return undefined;
    path.push(change);
    revision = change.parent;
  }
  return path.reverse();
}

/** The list that a feed has at a revision; undefined when it can no longer be made of what is stored. */
export async function readListAt(
  client: ClickHouseClient,
  feedId: string,
  revision: string,
): Promise<Uint32Array | undefined> {
  const bases = await readBases(client, feedId);
  const isBase = new Set(bases.map((base) => base.revision));
  if (isBase.has(revision)) return readBase(client, feedId, revision);
  const madeAt = await readFirstTime(client, feedId, revision);
  if (madeAt === undefined) return undefined;
  for (const { refreshedAt } of bases) {
    if (refreshedAt > madeAt) continue;
    const changes = await readChanges(client, feedId, refreshedAt, madeAt);
    const path = pathBetween(changes, { from: (one) => isBase.has(one), to: revision });
    const first = path?.[0];
    if (path !== undefined && first !== undefined) {
      return applyChanges(await readBase(client, feedId, first.parent), path);
    }
  }
  return undefined;
}

/** What a reader has and what the feed is now. */
export type Span = {
  readonly feedId: string;
  /** The revision that the reader has. */
  readonly since: string;
  /** The current one, and its list. */
  readonly revision: string;
  readonly addresses: Uint32Array;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
};

/** Changes with more addresses are not put together: the two lists are compared. */
const MAX_COMPOSED_ADDRESSES = 1_000_000;

/**
 * How a feed differs from what it was at a revision: one that another process made beside the current one counts, too.
 * @returns undefined for a revision that is not known, or was replaced more than seven days ago.
 */
export async function readChangesSince(
  client: ClickHouseClient,
  span: Span,
  maxComposed = MAX_COMPOSED_ADDRESSES,
): Promise<AddressChanges | undefined> {
  const { feedId, since, revision, addresses, now } = span;
  const first = await readFirstTime(client, feedId, since);
  if (first === undefined) return undefined;
  const ends = { from: (one: string) => one === since, to: revision };
  const steps = pathBetween(await readSteps(client, feedId, first), ends);
  const last = steps?.at(-1);
  const replacedAt = steps === undefined ? first : (steps[0]?.refreshedAt ?? now);
  if (!isKept(replacedAt, now)) return undefined;
  const size = steps?.reduce((sum, step) => sum + step.size, 0) ?? 0;
  if (last !== undefined && size <= maxComposed) {
    const path = pathBetween(await readChanges(client, feedId, first, last.refreshedAt), ends);
    if (path !== undefined) return composeChanges(path);
  }
  const before = await readListAt(client, feedId, since);
  return before && changesBetween(before, addresses);
}
