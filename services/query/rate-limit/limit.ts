import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { Logger } from "pino";
import type { AuthorizedCaller } from "../auth.ts";
import { fileCounter } from "./file-counter.ts";
import type { CountingState, LookupCounter } from "./memory-counter.ts";

/** The result of requesting lookups. */
export type LimitResult = {
  readonly isGranted: boolean;
  /** Lookups per day; absent without a limit. */
  readonly limit?: number;
  /** Lookups left for the day; absent without a limit. */
  readonly remaining?: number;
  /** The `RateLimit-*` header fields. Never Retry-After: real clients would sleep for it. */
  readonly headers: Readonly<Record<string, string>>;
  /** Uncounts the lookups, when they failed through no fault of the caller. */
  refund(): Promise<void>;
};

/** Limits lookups per UTC day, by workspace or, for callers without a key, by client. */
export type LookupLimit = {
  /**
   * Grants all or none.
   * @param client the network of a caller without a key, see `clientNetwork`.
   * @param lookups 0 is always granted.
   */
  take(caller: AuthorizedCaller, client: string | undefined, lookups: number): Promise<LimitResult>;
  /** Where it counts at the moment. */
  state(): CountingState;
  /** Saves the counts that must survive the process. */
  close(): Promise<void>;
};

/** Counts in Redis or Valkey, shared by all processes. While it is down, each process counts its own lookups. */
export async function sharedLookupLimit(redisUrl: string, now: () => number, log: Logger): Promise<LookupLimit> {
  // Loaded only here, as it slows every start down.
  const { redisCounter } = await import("./redis-counter.ts");
  return createLimit(await redisCounter(redisUrl, log), now);
}

/** Counts in memory, and saves the counts in a file of this process. */
export async function localLookupLimit(file: string, now: () => number, log: Logger): Promise<LookupLimit> {
  return createLimit(await fileCounter(file, log), now);
}

function createLimit(counter: LookupCounter, now: () => number): LookupLimit {
  return {
    async take(caller, client, lookups) {
      const limit = caller.limits.lookups_per_day;
      if (limit === undefined) return { isGranted: true, headers: {}, refund: async () => {} };
      const time = now();
      const day = new Date(time).toISOString().slice(0, 10);
      const owner = caller.workspaceId === undefined ? `address:${client}` : `workspace:${caller.workspaceId}`;
      const key = `${day}:${owner}`;
      const { isGranted, used } = await counter.take(key, limit, lookups);
      const remaining = Math.max(0, limit - used);
      const headers = {
        "ratelimit-limit": String(limit),
        "ratelimit-remaining": String(remaining),
        "ratelimit-reset": String(Math.ceil((DAY_MS - (time % DAY_MS)) / 1_000)),
      };
      return { isGranted, limit, remaining, headers, refund: () => counter.refund(key, lookups) };
    },
    state: counter.state,
    close: counter.close,
  };
}
