import type { FeedDefinition } from "@noisefloor/domain/feeds/feed-definition.ts";
import { hashKey } from "../access/workspaces.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { readStoreIdentity } from "../client/store-identity.ts";
import { readFeeds } from "../feeds/definitions.ts";
import { type GuardNetwork, NO_WORKSPACE, readGuardNetworks } from "../feeds/guard-networks.ts";
import { type FeedToken, readFeedTokens, readTokensOfDeletedFeeds } from "../feeds/tokens.ts";
import { defineVersion } from "../records/define-records.ts";
import { openPollingCache, type PollingOptions, type RefreshedCache } from "./polling-cache.ts";

/** The feeds that users made, their tokens and what they guard, kept in memory: a reader's token costs no query. */
export type FeedCache = RefreshedCache & {
  /** Of all workspaces, in order of their names within each. */
  feeds(): readonly FeedDefinition[];
  feedById(id: string): FeedDefinition | undefined;
  /** The token with this text; undefined when it is not known or was revoked. */
  token(text: string): FeedToken | undefined;
  /** Whether a text is the token of a feed that was deleted in the last 30 days. */
  isOfDeletedFeed(text: string): boolean;
  tokensOf(feedId: string): readonly FeedToken[];
  /** The networks that a workspace guards, and when what it or all workspaces guard changed last (ms since 1970 UTC). */
  guardOf(workspaceId: string): Guard;
};

type Guard = { readonly networks: readonly GuardNetwork[]; readonly changedAt: number };
const NO_GUARD: Guard = { networks: [], changedAt: 0 };

const TABLES = ["feeds", "feed_tokens", "guard_networks"];
const readFeedsVersion = defineVersion("feeds-version", ...TABLES);
const NO_ROWS = "0/0 0/0 0/0";

/** Reads them and keeps them up to date: a token that is made or revoked anywhere counts here within seconds. */
export async function openFeedCache(client: ClickHouseClient, options: PollingOptions = {}): Promise<FeedCache> {
  const { current, ...cache } = await openPollingCache(
    () => readFeedsVersion(client),
    async () => {
      const [version, feeds, tokens, deleted, guards] = await Promise.all([
        readFeedsVersion(client),
        readFeeds(client),
        readFeedTokens(client),
        readTokensOfDeletedFeeds(client),
        readGuardNetworks(client),
      ]);
      return {
        feeds,
        byId: new Map(feeds.map((feed) => [feed.id, feed])),
        tokens: new Map(tokens.map((token) => [token.sha256, token])),
        tokensByFeed: tokensByFeed(tokens),
        ofDeletedFeeds: new Set(deleted.map(({ sha256 }) => sha256)),
        guards: guardsByWorkspace(guards),
        isEmpty: version === NO_ROWS,
      };
    },
    {
      ...options,
      tables: TABLES,
      lossy: { isEmpty: (content) => content.isEmpty, readIdentity: () => readStoreIdentity(client) },
    },
  );
  return {
    ...cache,
    feeds: () => current().feeds,
    feedById: (id) => current().byId.get(id),
    token: (text) => current().tokens.get(hashKey(text)),
    isOfDeletedFeed: (text) => current().ofDeletedFeeds.has(hashKey(text)),
    tokensOf: (feedId) => current().tokensByFeed.get(feedId) ?? [],
    guardOf(workspaceId) {
      const { guards } = current();
      const { networks, changedAt } = guards.get(workspaceId) ?? NO_GUARD;
      return { networks, changedAt: Math.max(changedAt, guards.get(NO_WORKSPACE)?.changedAt ?? 0) };
    },
  };
}

function guardsByWorkspace(guards: readonly GuardNetwork[]): ReadonlyMap<string, Guard> {
  const byWorkspace = new Map<string, Guard>();
  for (const guard of guards) {
    const { networks, changedAt } = byWorkspace.get(guard.workspaceId) ?? NO_GUARD;
    byWorkspace.set(guard.workspaceId, {
      networks: guard.isDeleted ? networks : [...networks, guard],
      changedAt: Math.max(changedAt, guard.updatedAt),
    });
  }
  return byWorkspace;
}

function tokensByFeed(tokens: readonly FeedToken[]): ReadonlyMap<string, readonly FeedToken[]> {
  const byFeed = new Map<string, FeedToken[]>();
  for (const token of tokens) {
    const some = byFeed.get(token.feedId);
    if (some === undefined) byFeed.set(token.feedId, [token]);
    else some.push(token);
  }
  return byFeed;
}
