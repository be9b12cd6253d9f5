import { DAY_MS } from "@noisefloor/domain/window.ts";
import type { Logger } from "pino";
import type { AuthorizedCaller } from "../auth.ts";
import type { CountingState, LookupCounter } from "./counter.ts";
import { fileCounter } from "./file-counter.ts";
import { sharedCounter } from "./shared-counter.ts";

/** What became of asking for more lookups. */
export type Permit = {
  readonly isGranted: boolean;
  /** Lookups per day; absent when there is no limit. */
  readonly limit?: number;
  /** Lookups left for the day; absent when there is no limit. */
  readonly remaining?: number;
  /** The state of the limit as header fields. Never Retry-After: real clients would sleep for it. */
  readonly headers: Readonly<Record<string, string>>;
  /** For lookups that failed through no fault of the caller's: they cost nothing. */
  giveBack(): Promise<void>;
};

/** Counts lookups per UTC day, by workspace or, for callers without a key, by client. */
export type LookupLimit = {
  /**
   * Grants all or none.
   * @param client one spelling for one client, see `clientNetwork`.
   * @param lookups how many; 0 is always granted.
   */
  take(caller: AuthorizedCaller, client: string, lookups: number): Promise<Permit>;
  /** Where it counts at the moment; asking costs nothing. */
  state(): CountingState;
  /** Keeps what must outlast the process. */
  close(): Promise<void>;
};

/** Counts in Redis or Valkey, shared by all processes. While it is away each process counts for itself. */
export async function sharedLookupLimit(redisUrl: string, now: () => number, log: Logger): Promise<LookupLimit> {
  return limitOver(await sharedCounter(redisUrl, log), now);
}

/** Counts in this process, and in a file of its own that outlasts it. */
export async function localLookupLimit(file: string, now: () => number, log: Logger): Promise<LookupLimit> {
  return limitOver(await fileCounter(file, log), now);
}

function limitOver(counter: LookupCounter, now: () => number): LookupLimit {
  return {
    async take(caller, client, lookups) {
      const limit = caller.terms.lookups_per_day;
      if (limit === undefined) return { isGranted: true, headers: {}, giveBack: async () => {} };
      const time = now();
      const day = new Date(time).toISOString().slice(0, 10);
      const who = caller.workspaceId === undefined ? `address:${client}` : `workspace:${caller.workspaceId}`;
      const key = `${day}:${who}`;
      const { isGranted, used } = await counter.take(key, limit, lookups);
      const remaining = Math.max(0, limit - used);
      const headers = {
        "ratelimit-limit": String(limit),
        "ratelimit-remaining": String(remaining),
        "ratelimit-reset": String(Math.ceil((DAY_MS - (time % DAY_MS)) / 1_000)),
      };
      return { isGranted, limit, remaining, headers, giveBack: () => counter.giveBack(key, lookups) };
    },
    state: counter.state,
    close: counter.close,
  };
}
