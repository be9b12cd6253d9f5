import type { ClickHouseClient } from "@clickhouse/client";
import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { hashKey, readAccessVersion, readApiKeys, readWorkspaces } from "../tables/workspaces.ts";
import { openPollingCache, type PollingOptions } from "./polling-cache.ts";

/** Which caller each API key belongs to, kept in memory: looking a key up costs no query. */
export type AccessCache = {
  /** The caller behind a key; undefined when the key is not known or was revoked. */
  callerOf(key: string): Caller | undefined;
  refresh(): Promise<void>;
  /** Seconds since it was last known to be up to date. */
  ageSeconds(): number;
  stop(): void;
};

/** Reads workspaces and keys and keeps them up to date: a key made or revoked anywhere counts here within seconds. */
export async function openAccessCache(client: ClickHouseClient, options: PollingOptions = {}): Promise<AccessCache> {
  const { current, refresh, ageSeconds, stop } = await openPollingCache(
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
      return { byHash, isEmpty: workspaces.length === 0 && keys.length === 0 };
    },
    { ...options, isEmpty: (content) => content.isEmpty },
  );
  return { callerOf: (key) => current().byHash.get(hashKey(key)), refresh, ageSeconds, stop };
}
