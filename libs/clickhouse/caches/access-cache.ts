import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { type Credential, credentials, hashSecret, needsSensorKey, type SecretKind } from "../access/credentials.ts";
import { workspaces } from "../access/workspaces.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { FEED_TABLES, type FeedCache, feedLookups, groupBy, readFeedContent } from "./feed-cache.ts";
import type { PollingOptions } from "./polling-cache.ts";
import { openRecordsCache } from "./records-cache.ts";

/**
 * Workspaces, the keys and tokens that open something for them, and their feeds, kept in memory: a lookup costs no
 * query. They are one cache, as a token counts for nothing without its feed and its workspace.
 */
export type AccessCache = FeedCache & {
  /** The valid credential with this secret. */
  find(kind: SecretKind, secret: string): Credential | undefined;
  /** The caller behind a workspace's key; undefined when the key is unknown or was revoked. */
  callerOf(key: string): Caller | undefined;
  /** The workspace itself, for what runs on its behalf; undefined for an unknown id. */
  callerOfWorkspace(workspaceId: string): Caller | undefined;
  /** Whether senders need a key. */
  needsSensorKey(): boolean;
  /** The valid tokens of a feed, the oldest first. */
  tokensOf(feedId: string): readonly Credential[];
  /** Whether a text is the token of a feed that was deleted in the last 30 days. @param now in ms since 1970 UTC. */
  isOfDeletedFeed(token: string, now: number): boolean;
};

/** For how long the tokens of a deleted feed are told that it was. */
const TOLD_DELETED_MS = 30 * DAY_MS;

/** Reads them and keeps them up to date: what is made or revoked anywhere counts here within seconds. */
export async function openAccessCache(client: ClickHouseClient, options: PollingOptions = {}): Promise<AccessCache> {
  const read = async () => {
    const [callers, all, feeds] = await Promise.all([
      workspaces.read(client),
      credentials.read(client),
      readFeedContent(client),
    ]);
    const valid = all.filter(({ isRevoked }) => !isRevoked);
    return {
      feeds,
      callers: new Map(
        callers.map(({ workspaceId, plan, entitlements }): [string, Caller] => [
          workspaceId,
          { workspaceId, plan, entitlements: new Set(entitlements) },
        ]),
      ),
      byHash: byKindAndHash(valid),
      revoked: byKindAndHash(all.filter(({ isRevoked }) => isRevoked)),
      /** Those whose secrets were sent: to hash a secret takes much of the time of a lookup. */
      bySecret: new Map<string, Credential>(),
      tokens: groupBy(valid, ({ kind, subject }) => (kind === "feed" ? subject : "")),
      needsSensorKey: needsSensorKey(all),
      kinds: new Set([
        ...callers.map(() => "caller"),
        ...all.map(({ kind }) => kind),
        ...feeds.feeds.map(() => "list"),
      ]),
    };
  };
  const tables = [workspaces.table, credentials.table, ...FEED_TABLES];
  const { current, ...cache } = await openRecordsCache(client, tables, read, options);
  const find = (kind: SecretKind, secret: string) => {
    const { byHash, bySecret } = current();
    const name = `${kind} ${secret}`;
    const sent = bySecret.get(name);
    if (sent !== undefined) return sent;
    const credential = byHash.get(`${kind} ${hashSecret(secret)}`);
    if (credential !== undefined) bySecret.set(name, credential);
    return credential;
  };
  const callerOfWorkspace = (workspaceId: string) => current().callers.get(workspaceId);
  return {
    ...cache,
    ...feedLookups(() => current().feeds),
    find,
    callerOf(key) {
      const credential = find("workspace", key);
      return credential && callerOfWorkspace(credential.workspaceId);
    },
    callerOfWorkspace,
    needsSensorKey: () => current().needsSensorKey,
    tokensOf: (feedId) => current().tokens.get(feedId) ?? [],
    isOfDeletedFeed(token, now) {
      const { revoked, feeds } = current();
      const credential = revoked.get(`feed ${hashSecret(token)}`);
      if (credential === undefined || credential.updatedAt <= now - TOLD_DELETED_MS) return false;
      return feeds.deletedIds.has(credential.subject);
    },
  };
}

const byKindAndHash = (secrets: readonly Credential[]): ReadonlyMap<string, Credential> =>
  new Map(secrets.map((credential) => [`${credential.kind} ${credential.sha256}`, credential]));
