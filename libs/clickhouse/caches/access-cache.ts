import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { hashKey, readAccessVersion, readApiKeys, readWorkspaces } from "../access/workspaces.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { readStoreIdentity } from "../client/store-identity.ts";
import { openPollingCache, type PollingOptions, type RefreshedCache } from "./polling-cache.ts";

/** Which caller each API key belongs to, kept in memory: looking a key up costs no query. */
export type AccessCache = RefreshedCache & {
  /** The caller behind a key; undefined when the key is not known or was revoked. */
  callerOf(key: string): Caller | undefined;
  /** The workspace itself, for what runs on its behalf; undefined for an unknown id. */
  callerOfWorkspace(workspaceId: string): Caller | undefined;
};

/**
 * Keys whose callers are found without a hash, until a key or workspace changes: to hash a key takes a twelfth of the
 * time of a lookup. Only keys that were sent and are valid; their requests bring them into memory anyway.
 */
const MAX_KEYS_BY_TEXT = 10_000;

/** Reads workspaces and keys and keeps them up to date: a key made or revoked anywhere counts here within seconds. */
export async function openAccessCache(client: ClickHouseClient, options: PollingOptions = {}): Promise<AccessCache> {
  const { current, ...cache } = await openPollingCache(
    () => readAccessVersion(client),
    async () => {
      const [workspaces, keys] = await Promise.all([readWorkspaces(client), readApiKeys(client)]);
      const callers = new Map<string, Caller>(
        workspaces.map(({ workspaceId, plan, entitlements }) => [
          workspaceId,
          { workspaceId, plan, entitlements: new Set(entitlements) },
        ]),
      );
      const byHash = new Map<string, Caller>();
      for (const { sha256, workspaceId, isRevoked } of keys) {
        const caller = callers.get(workspaceId);
        if (caller !== undefined && !isRevoked) byHash.set(sha256, caller);
      }
      return {
        callers,
        byHash,
        byKey: new Map<string, Caller>(),
        isEmpty: workspaces.length === 0 && keys.length === 0,
      };
    },
    {
      ...options,
      tables: ["workspaces", "api_keys"],
      lossy: { isEmpty: (content) => content.isEmpty, readIdentity: () => readStoreIdentity(client) },
    },
  );
  const callerOf = (key: string) => {
    const { byHash, byKey } = current();
    const known = byKey.get(key);
    if (known !== undefined) return known;
    const caller = byHash.get(hashKey(key));
    if (caller !== undefined && byKey.size < MAX_KEYS_BY_TEXT) byKey.set(key, caller);
    return caller;
  };
  const callerOfWorkspace = (workspaceId: string) => current().callers.get(workspaceId);
  return { ...cache, callerOf, callerOfWorkspace };
}
