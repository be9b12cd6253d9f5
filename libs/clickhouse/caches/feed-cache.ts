import type { FeedDefinition } from "@noisefloor/domain/feeds/feed-definition.ts";
import { knownHosts, readKnownHostChanges, type StoredKnownHost } from "../callbacks/known-hosts.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { feedDefinitions, readDeletedFeedIds } from "../feeds/definitions.ts";
import { type GuardNetwork, guardNetworks, NO_WORKSPACE, readGuardChanges } from "../feeds/guard-networks.ts";
import type { RefreshedCache } from "./polling-cache.ts";

/** The feeds that users made, and what never stands in one, kept in memory: the part of the access cache that feeds need. */
export type FeedCache = RefreshedCache & {
  /** Those of all workspaces, in order of their names within each. */
  feeds(): readonly FeedDefinition[];
  feedById(id: string): FeedDefinition | undefined;
  /** The networks that a workspace guards, and when what it or all workspaces guard changed last (ms since 1970 UTC). */
  guardOf(workspaceId: string): Guard;
  /** The hosts that a workspace knows beside those that come along, and when these changed last. */
  knownHostsOf(workspaceId: string): OwnKnownHosts;
};

type Guard = { readonly networks: readonly GuardNetwork[]; readonly changedAt: number };
type OwnKnownHosts = { readonly hosts: readonly StoredKnownHost[]; readonly changedAt: number };

export const FEED_TABLES = [feedDefinitions.table, guardNetworks.table, knownHosts.table];

/** What the cache holds of feeds. */
export type FeedContent = Awaited<ReturnType<typeof readFeedContent>>;

export async function readFeedContent(client: ClickHouseClient) {
  const [feeds, deletedIds, networks, changes, hosts, hostChanges] = await Promise.all([
    feedDefinitions.read(client),
    readDeletedFeedIds(client),
    guardNetworks.read(client),
    readGuardChanges(client),
    knownHosts.read(client),
    readKnownHostChanges(client),
  ]);
  return {
    feeds,
    byId: new Map(feeds.map((feed) => [feed.id, feed])),
    deletedIds,
    guards: groupBy(networks, ({ workspaceId }) => workspaceId),
    guardChanges: timesOf(changes),
    knownHosts: groupBy(hosts, ({ workspaceId }) => workspaceId),
    knownHostChanges: timesOf(hostChanges),
  };
}

const timesOf = (changes: Awaited<ReturnType<typeof readGuardChanges>>): ReadonlyMap<string, number> =>
  new Map(changes.map(({ workspaceId, changedAt }) => [workspaceId, changedAt]));

/** The items by what a function says of each, in their order. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

export function feedLookups(current: () => FeedContent): Omit<FeedCache, keyof RefreshedCache> {
  return {
    feeds: () => current().feeds,
    feedById: (id) => current().byId.get(id),
    guardOf(workspaceId) {
      const { guards, guardChanges } = current();
      const changes = [workspaceId, NO_WORKSPACE].map((id) => guardChanges.get(id) ?? 0);
      return { networks: guards.get(workspaceId) ?? [], changedAt: Math.max(...changes) };
    },
    knownHostsOf(workspaceId) {
      const { knownHosts: hosts, knownHostChanges } = current();
      return { hosts: hosts.get(workspaceId) ?? [], changedAt: knownHostChanges.get(workspaceId) ?? 0 };
    },
  };
}
