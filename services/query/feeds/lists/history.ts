import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  readBase,
  readBases,
  readFirstRefresh,
  readRevisions,
  readSteps,
  type StoredRevision,
} from "@noisefloor/clickhouse/feeds/refreshes.ts";
import {
  applyRevisions,
  changesBetween,
  composeChanges,
  type HostChanges,
  type HostList,
  nameChangesBetween,
} from "@noisefloor/domain/feeds/address-changes.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";

/** For how long a cursor holds after its list was replaced. */
const KEPT_MS = 7 * DAY_MS;

/** Whether a list that was replaced at a time may still be asked about. Both in milliseconds since 1970 UTC. */
export const isKept = (replacedAt: number, now: number) => replacedAt >= now - KEPT_MS;

/**
 * The revisions from one to a later one, in the order in which they were made; undefined when they do not lead there.
 * Revisions that two processes made of the same parent are no changes of each other.
 */
export function pathBetween<Step extends Pick<StoredRevision, "revision" | "parent">>(
  steps: readonly Step[],
  { from, to }: { readonly from: (revision: string) => boolean; readonly to: string },
): readonly Step[] | undefined {
  const path = pathTo(steps, to, from);
  return from(path[0]?.parent ?? to) ? path : undefined;
}

/** The revisions that lead to one, as far as they are among these, in the order in which they were made. */
export function pathTo<Step extends Pick<StoredRevision, "revision" | "parent">>(
  steps: readonly Step[],
  to: string,
  isStart: (revision: string) => boolean = () => false,
): readonly Step[] {
  const byRevision = new Map(steps.map((step) => [step.revision, step]));
  const path: Step[] = [];
  for (let next = to; !isStart(next); ) {
    const step = byRevision.get(next);
    if (step === undefined || path.length > steps.length) break;
    path.push(step);
    next = step.parent;
  }
  return path.reverse();
}

/**
 * The list that a feed has at a revision; undefined when it can no longer be made of what is stored. Its versions are
 * right for the last ten days.
 */
export async function readListAt(
  client: ClickHouseClient,
  feedId: string,
  revision: string,
): Promise<HostList | undefined> {
  const bases = await readBases(client, feedId);
  const isBase = new Set(bases.map((base) => base.revision));
  if (isBase.has(revision)) return readBase(client, feedId, revision);
  const made = await readFirstRefresh(client, feedId, revision);
  if (made === undefined) return undefined;
  for (const { refreshedAt } of bases) {
    if (refreshedAt > made.refreshedAt) continue;
    const steps = await readRevisions(client, feedId, { since: refreshedAt, until: made.refreshedAt }, true);
    const path = pathBetween(steps, { from: (each) => isBase.has(each), to: revision });
    const first = path?.[0];
    if (path !== undefined && first !== undefined) {
      return applyRevisions(await readBase(client, feedId, first.parent), path);
    }
  }
  return undefined;
}

/** What a reader has and what the feed is now. */
export type Span = {
  readonly feedId: string;
  /** The revision that the reader has. */
  readonly since: string;
  /** The current one, and its hosts. */
  readonly revision: string;
  readonly addresses: Uint32Array;
  readonly names: readonly string[];
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
};

/** Changes with more hosts are not put together: the two lists are compared. */
const MAX_COMPOSED = 1_000_000;

/**
 * How a feed differs from what it was at a revision: one that another process made beside the current one counts, too.
 * @returns undefined for a revision that is not known, or was replaced more than seven days ago.
 */
export async function readChangesSince(
  client: ClickHouseClient,
  span: Span,
  maxComposed = MAX_COMPOSED,
): Promise<HostChanges | undefined> {
  const { feedId, since, revision, addresses, names, now } = span;
  const made = await readFirstRefresh(client, feedId, since);
  if (made === undefined) return undefined;
  const steps = await readSteps(client, feedId, made.refreshedAt);
  const path = pathBetween(steps, { from: (each) => each === since, to: revision });
  const changes = path?.filter(({ size }) => size > 0);
  const [first, last] = [changes?.[0], changes?.at(-1)];
  if (!isKept(path === undefined ? made.refreshedAt : (first?.revisedAt ?? now), now)) return undefined;
  const size = changes?.reduce((sum, step) => sum + step.size, 0) ?? 0;
  if (first !== undefined && last !== undefined && size <= maxComposed) {
    const isOnPath = new Set(changes?.map((step) => step.revision));
    const times = { since: first.refreshedAt, until: last.refreshedAt };
    const stored = await readRevisions(client, feedId, times, false);
    return composeChanges(stored.filter((each) => isOnPath.has(each.revision)));
  }
  const before = await readListAt(client, feedId, since);
  return before && { ...changesBetween(before.addresses, addresses), ...nameChangesBetween(before.names, names) };
}
