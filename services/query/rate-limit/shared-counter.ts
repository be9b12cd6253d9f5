import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import type { Logger } from "pino";
import { KEPT_SECONDS, type LookupCounter, MOST_CALLERS, memoryCounter } from "./counter.ts";

const PREFIX = "noisefloor:lookups:";
/** A Redis that is well answers within a few milliseconds. Whoever waits for one that is not is a client's request. */
const TIMEOUT_MS = 1_000;
const RETRY_AT_MOST_MS = 2_000;
/** How long the start waits for it. */
const START_WAIT_MS = 3_000;

/**
 * Judged and counted in one step, so that no two processes both grant the last ones.
 * KEYS: the counter. ARGV: what it must have reached already, the limit, how long it is kept, how many more.
 * Answers: granted?, used.
 */
const TAKE = `
local used = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), tonumber(ARGV[1]))
local lookups = tonumber(ARGV[4])
local granted = 0
if lookups == 0 or used + lookups <= tonumber(ARGV[2]) then
  used = used + lookups
  granted = 1
end
redis.call('SET', KEYS[1], used, 'EX', ARGV[3])
return {granted, used}`;

/** A counter that Redis has forgotten stays forgotten: below zero it would grant more than the limit. */
const GIVE_BACK = `
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
local lookups = math.min(used, tonumber(ARGV[1]))
if lookups > 0 then redis.call('DECRBY', KEYS[1], lookups) end
return 1`;

/**
 * Counts in Redis or Valkey, together with all other processes. While it is away the process goes on counting by itself
 * from what it has last seen; afterwards a counter is at least where any process has brought it, even if Redis has
 * forgotten it. Resolves when Redis is there, or as soon as it is clear that it is not.
 */
export async function sharedCounter(redisUrl: string, log: Logger): Promise<LookupCounter> {
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectionName: "noisefloor",
    // Nothing waits for a connection: it is counted here in the meantime.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    // Ends the connection to a server that hangs: otherwise every single request would wait for its own timeout.
    socketTimeout: TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(100 * attempt, RETRY_AT_MOST_MS),
  });
  const local = memoryCounter();
  /** Whose counter in Redis has, since it was last reached, been told what we know; and of which day. */
  let told = new Set<string>();
  let toldOn = "";
  let isDown = false;
  let isClosing = false;
  const down = (error: Error) => {
    // The message and no more: what else the client knows of a failed command includes the password.
    if (!isDown && !isClosing) {
      log.warn({ reason: error.message }, "the shared counter of lookups is down: this process counts for itself");
    }
    isDown = true;
  };
  const up = () => {
    if (isDown) log.info("the shared counter of lookups is back");
    isDown = false;
  };
  redis.on("error", down);
  redis.on("close", () => down(new Error("the connection has ended")));
  redis.on("ready", () => {
    told = new Set();
    up();
  });
  // A Redis that still loads its data can be connected to for minutes without being ready.
  await Promise.race([redis.connect().catch(down), sleep(START_WAIT_MS, undefined, { ref: false })]);
  if (redis.status !== "ready") down(new Error("it is not ready"));

  /** Asks Redis; what it cannot say at the moment is said by us. */
  const orLocally = async <T>(shared: () => Promise<T>, locally: () => Promise<T>): Promise<T> => {
    if (redis.status !== "ready") return locally();
    try {
      const answer = await shared();
      up();
      return answer;
    } catch (error) {
      down(error instanceof Error ? error : new Error(String(error)));
      return locally();
    }
  };

  return {
    take(key, limit, lookups) {
      const day = key.slice(0, key.indexOf(":"));
      if (day !== toldOn) told = new Set();
      toldOn = day;
      return orLocally(
        async () => {
          const known = told.has(key) ? 0 : local.usedOf(key);
          const answer = await redis.eval(TAKE, 1, PREFIX + key, known, limit, KEPT_SECONDS, lookups);
          const [granted, used] = Array.isArray(answer) ? answer.map(Number) : [];
          if (granted === undefined || used === undefined) throw new Error("Redis did not answer with two numbers");
          // Telling it again does no harm, remembering every caller there ever was would.
          if (told.size >= MOST_CALLERS) told.clear();
          told.add(key);
          local.set({ key, used, limit });
          return { isGranted: granted === 1, used };
        },
        async () => local.take(key, limit, lookups),
      );
    },
    async giveBack(key, lookups) {
      local.giveBack(key, lookups);
      await orLocally(
        async () => void (await redis.eval(GIVE_BACK, 1, PREFIX + key, lookups)),
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
