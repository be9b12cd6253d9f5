import { readFile, rename, writeFile } from "node:fs/promises";
import { DAY_MS } from "@noisefloor/domain/window.ts";
import { Redis } from "ioredis";
import type { Logger } from "pino";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis } from "rate-limiter-flexible";
import type { AuthorizedCaller } from "./auth.ts";

/** What became of asking for one more lookup. */
export type Permit = {
  readonly isGranted: boolean;
  /** Lookups per day; absent when there is no limit. */
  readonly limit?: number;
  /** The state of the limit as header fields. Never Retry-After: real clients would sleep for it. */
  readonly headers: Readonly<Record<string, string>>;
  /** For a lookup that failed through no fault of the caller's: it costs nothing. */
  giveBack(): Promise<void>;
};

/** Counts lookups per UTC day, by workspace or, for callers without a key, by client address. */
export type LookupLimit = {
  take(caller: AuthorizedCaller, clientAddress: string): Promise<Permit>;
  /** Keeps what must outlast the process. */
  close(): Promise<void>;
};

/** A day's counts are of no use after it, wherever the clocks of several processes stand. */
const KEPT_SECONDS = (2 * DAY_MS) / 1_000;
/** The plans set the limits; the library's own is out of reach. */
const COUNTING = { points: Number.MAX_SAFE_INTEGER, duration: KEPT_SECONDS, keyPrefix: "noisefloor:lookups" };
const SAVE_INTERVAL_MS = 1_000;

/** Counts in Redis or Valkey, shared by all processes. While it is away each process counts for itself. */
export function sharedLookupLimit(redisUrl: string, now: () => number, log: Logger): LookupLimit {
  const redis = new Redis(redisUrl, { enableOfflineQueue: false, maxRetriesPerRequest: 1 });
  let isDown = false;
  redis.on("error", (error) => {
    if (!isDown) log.warn({ err: error }, "the shared counter of lookups is down: this process counts for itself");
    isDown = true;
  });
  redis.on("ready", () => {
    if (isDown) log.info("the shared counter of lookups is back");
    isDown = false;
  });
  const counter = new RateLimiterRedis({
    ...COUNTING,
    storeClient: redis,
    insuranceLimiter: new RateLimiterMemory(COUNTING),
  });
  return {
    take: (caller, clientAddress) => take(counter, caller, clientAddress, now()),
    close: async () => redis.disconnect(),
  };
}

/** Counts in memory, and in a file that outlasts the process. Where the file cannot be written, in memory only. */
export async function localLookupLimit(file: string, now: () => number, log: Logger): Promise<LookupLimit> {
  const counter = new RateLimiterMemory(COUNTING);
  await readFile(file, "utf8").then(
    (text) => counter.restore(JSON.parse(text)),
    () => {},
  );
  let isChanged = false;
  let canWrite = true;
  const save = async () => {
    if (!isChanged || !canWrite) return;
    isChanged = false;
    try {
      await writeFile(`${file}.new`, JSON.stringify(counter.dump()), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (error) {
      canWrite = false;
      log.warn({ err: error, file }, "counts of lookups cannot be saved: a restart will forget them");
    }
  };
  const timer = setInterval(() => void save(), SAVE_INTERVAL_MS);
  timer.unref();
  return {
    take(caller, clientAddress) {
      isChanged = true;
      return take(counter, caller, clientAddress, now());
    },
    async close() {
      clearInterval(timer);
      await save();
    },
  };
}

async function take(
  counter: RateLimiterAbstract,
  caller: AuthorizedCaller,
  clientAddress: string,
  now: number,
): Promise<Permit> {
  const limit = caller.terms.lookups_per_day;
  if (limit === undefined) return { isGranted: true, headers: {}, giveBack: async () => {} };
  const day = new Date(now).toISOString().slice(0, 10);
  const who = caller.workspaceId === undefined ? `address:${clientAddress}` : `workspace:${caller.workspaceId}`;
  const key = `${day}:${who}`;
  const { consumedPoints } = await counter.consume(key);
  const isGranted = consumedPoints <= limit;
  const giveBack = async () => void (await counter.reward(key));
  // A refused request costs nothing: clients repeat it.
  if (!isGranted) await giveBack();
  const untilMidnight = Math.ceil((DAY_MS - (now % DAY_MS)) / 1_000);
  const headers = {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(Math.max(0, limit - consumedPoints)),
    "ratelimit-reset": String(untilMidnight),
  };
  return { isGranted, limit, headers, giveBack };
}
