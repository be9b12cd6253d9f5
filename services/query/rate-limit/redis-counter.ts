import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { COUNT_TTL_SECONDS, type LookupCounter, MAX_CALLERS, memoryCounter } from "./memory-counter.ts";

const PREFIX = "noisefloor:lookups:";
/** A healthy Redis responds within a few milliseconds, and each lookup waits for it. */
const TIMEOUT_MS = 1_000;
const MAX_RETRY_DELAY_MS = 2_000;
/** How long the startup waits for Redis. */
const START_TIMEOUT_MS = 3_000;

/**
 * Checks and counts atomically, so that no two processes both grant the last lookups. KEYS: the counter. ARGV: its
 * minimum, known to this process; the limit; its TTL; the lookups. Returns {granted, used}.
 */
const TAKE_SCRIPT = `
local used = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), tonumber(ARGV[1]))
local lookups = tonumber(ARGV[4])
local granted = 0
if lookups == 0 or used + lookups <= tonumber(ARGV[2]) then
  used = used + lookups
  granted = 1
end
redis.call('SET', KEYS[1], used, 'EX', ARGV[3])
return {granted, used}`;

/** Redis may have lost the counter: a negative one would grant more than the limit. */
const REFUND_SCRIPT = `
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
local lookups = math.min(used, tonumber(ARGV[1]))
if lookups > 0 then redis.call('DECRBY', KEYS[1], lookups) end
return 1`;

/**
 * Counts in Redis or Valkey, shared by all processes. While Redis is down, the process continues from the last counts
 * it knows; afterwards a counter is at least as high as in any process, even if Redis lost it. Resolves when Redis is
 * ready, down or too slow to wait for.
 */
export async function redisCounter(redisUrl: string, log: Logger): Promise<LookupCounter> {
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectionName: "noisefloor",
    // Commands never wait for a connection, as this process counts in the meantime.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    // Closes the connection to a server that hangs: otherwise every request would wait for its own timeout.
    socketTimeout: TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(100 * attempt, MAX_RETRY_DELAY_MS),
  });
  const local = memoryCounter();
  /** Keys of `syncedDay` whose counters in Redis, since the last connection, include what this process counted. */
  const syncedKeys = new LRUCache<string, true>({ max: MAX_CALLERS });
  let syncedDay = "";
  let isDown = false;
  let isClosing = false;
  const onDown = (error: Error) => {
    // Only the message: ioredis errors contain the failed command, which may include the password.
    if (!isDown && !isClosing) {
      log.warn({ reason: error.message }, "Redis is down; counting lookups in this process only");
    }
    isDown = true;
  };
  const onUp = () => {
    if (isDown) log.info("Redis is back; counting lookups in Redis again");
    isDown = false;
  };
  redis.on("error", onDown);
  redis.on("close", () => onDown(new Error("the connection was closed")));
  redis.on("ready", () => {
    syncedKeys.clear();
    onUp();
  });
  // A Redis that is loading its data accepts connections for minutes before it is ready.
  await Promise.race([redis.connect().catch(onDown), sleep(START_TIMEOUT_MS, undefined, { ref: false })]);
  if (redis.status !== "ready") onDown(new Error("it is not ready"));

  /** Runs `shared`, or `fallback` while Redis is down. */
  const withFallback = async <T>(shared: () => Promise<T>, fallback: () => Promise<T>): Promise<T> => {
    if (redis.status !== "ready") return fallback();
    try {
      const result = await shared();
      onUp();
      return result;
    } catch (error) {
      onDown(error instanceof Error ? error : new Error(String(error)));
      return fallback();
    }
  };

  return {
    take(key, limit, lookups) {
      const day = key.slice(0, key.indexOf(":"));
      if (day !== syncedDay) syncedKeys.clear();
      syncedDay = day;
      return withFallback(
        async () => {
          const known = syncedKeys.has(key) ? 0 : local.usedOf(key);
          const reply = await redis.eval(TAKE_SCRIPT, 1, PREFIX + key, known, limit, COUNT_TTL_SECONDS, lookups);
          const [granted, used] = Array.isArray(reply) ? reply.map(Number) : [];
          if (granted === undefined || used === undefined) throw new Error("the reply of Redis is not two numbers");
          syncedKeys.set(key, true);
          local.set({ key, used, limit });
          return { isGranted: granted === 1, used };
        },
        async () => local.take(key, limit, lookups),
      );
    },
    async refund(key, lookups) {
      local.refund(key, lookups);
      await withFallback(
        async () => void (await redis.eval(REFUND_SCRIPT, 1, PREFIX + key, lookups)),
        async () => {},
      );
    },
    state: () => (isDown || redis.status !== "ready" ? "shared-down" : "shared"),
    async close() {
      isClosing = true;
      redis.disconnect();
    },
  };
}
