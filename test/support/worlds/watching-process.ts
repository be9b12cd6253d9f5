import { openWatchCache, type WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { readEvents } from "@noisefloor/clickhouse/watches/log.ts";
import { DEFAULT_PLANS } from "@noisefloor/domain/access/plan.ts";
import { eventSchema, type WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { callerWithLimits } from "@noisefloor/query/auth.ts";
import type { QuestionsInMemory } from "@noisefloor/query/search/in-memory.ts";
import { knowing } from "@noisefloor/query/watches/known.ts";
import { openLooks } from "@noisefloor/query/watches/looks/looks.ts";
import { RETENTION_DAYS, type World } from "./world.ts";

const NEVER_MS = 2 ** 30;

/** The watches of a process over a world's store, which looks when it is told to. */
export type WatchingProcess = {
  readonly cache: WatchCache;
  /** Reads the watches, unless told not to, and looks. @returns the events that this look has put into the log. */
  look(readsWatches?: boolean): Promise<WatchEvent[]>;
  isLeader(): boolean;
  /** Ends without a word, as a process that is killed. */
  kill(): void;
  /** Lets others take over. */
  stop(): Promise<void>;
};

type WatchingOptions = {
  readonly now?: () => number;
  readonly memory?: QuestionsInMemory;
  /** Instead of the world's. */
  readonly client?: ClickHouseClient;
};

export async function startWatching(
  { client: ofWorld, catalogue, networks, accessCache }: World,
  { now = Date.now, memory, client = ofWorld }: WatchingOptions = {},
): Promise<WatchingProcess> {
  const cache = await openWatchCache(client, { intervalMs: NEVER_MS });
  const read = reader(client, { maxSeconds: 60 });
  const deps = { read, catalogue, networks, retentionDays: () => RETENTION_DAYS, now, memory };
  const withLimits = callerWithLimits(DEFAULT_PLANS);
  let events: WatchEvent[] = [];
  const errors: unknown[] = [];
  const looks = openLooks({
    client,
    cache,
    callerOf(workspaceId) {
      const caller = accessCache.callerOfWorkspace(workspaceId);
      return caller && withLimits(caller);
    },
    deps,
    ensureKnown: knowing(client, deps),
    changes: undefined,
    publicUrl: "https://noisefloor.example.org",
    onEvents: (found) => void events.push(...found.map(({ body }) => eventSchema.parse(JSON.parse(body)))),
    onLead: async () => {},
    onError: (error) => void errors.push(error),
    onFailure: (_, error) => void errors.push(error),
    everyMs: NEVER_MS,
  });
  return {
    cache,
    async look(readsWatches = true) {
      if (readsWatches) await cache.refresh();
      events = [];
      await looks.look();
      const failures = errors.splice(0);
      if (failures.length > 0) throw new AggregateError(failures, "a look failed");
      return events;
    },
    isLeader: () => looks.state().isLeader,
    kill: () => cache.stop(),
    async stop() {
      await looks.stop();
      cache.stop();
    },
  };
}

/** A watch of a workspace, as of now unless given. */
export function makeWatch(workspaceId: string, on: Watch["on"], more: Partial<Watch> = {}): Watch {
  const now = Date.now();
  return {
    id: crypto.randomUUID(),
    workspaceId,
    name: on.type,
    origin: "api",
    on,
    repeatAfterHours: 0,
    isEnabled: true,
    deliver: [],
    sinceAt: now,
    createdAt: now,
    updatedAt: now,
    ...more,
  };
}

export const writeWatches = ({ client }: World, watches: readonly Watch[]) =>
  watchDefinitions.write(client, watches, Date.now());

/** All events of a world in the order of the log. */
export async function allEvents({ client }: World): Promise<WatchEvent[]> {
  const events = await readEvents(client, { limit: 100_000 });
  return events.map(({ body }) => eventSchema.parse(JSON.parse(body)));
}
