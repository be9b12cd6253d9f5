import { randomUUID } from "node:crypto";
import type { AuthorizedCaller } from "@noisefloor/query/auth.ts";
import type { LookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import { type Logger, pino } from "pino";

export const LIMIT = 10;
export const DAY = 86_400_000;

/** The surroundings of a lookup limit: a clock that tests can set, a log, and a caller. */
export type LookupLimitWorld = {
  /** Milliseconds since 1970 UTC. */
  time: number;
  readonly now: () => number;
  readonly log: Logger;
  readonly logged: readonly string[];
  readonly caller: AuthorizedCaller;
  /** Closes it with the world. */
  opened(limit: LookupLimit): LookupLimit;
  /** One lookup by the caller, or several together. */
  readonly take: (limit: LookupLimit, lookups?: number) => ReturnType<LookupLimit["take"]>;
  /** The number of these lookups, one after the other, that are granted. */
  grantedOf(limit: LookupLimit, lookups: number): Promise<number>;
  close(): Promise<void>;
};

/** In a workspace of its own, so that tests can share a Redis. */
export function freshCaller(): AuthorizedCaller {
  const limits = { lookups_per_day: LIMIT, reach_days: 1 };
  return { plan: "small", workspaceId: randomUUID(), entitlements: new Set(), limits };
}

export function openLookupLimitWorld(): LookupLimitWorld {
  const caller = freshCaller();
  const open: LookupLimit[] = [];
  const logged: string[] = [];
  const take = (limit: LookupLimit, lookups = 1) => limit.take(caller, "45.0.0.1", lookups);
  const world: LookupLimitWorld = {
    time: Date.now(),
    now: () => world.time,
    log: pino({ level: "info" }, { write: (line: string) => void logged.push(line) }),
    logged,
    caller,
    opened(limit) {
      open.push(limit);
      return limit;
    },
    take,
    async grantedOf(limit, lookups) {
      let granted = 0;
      for (let lookup = 0; lookup < lookups; lookup++) if ((await take(limit)).isGranted) granted++;
      return granted;
    },
    async close() {
      for (const limit of open.splice(0)) await limit.close();
    },
  };
  return world;
}
