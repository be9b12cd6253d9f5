import { openAccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { DEFAULT_PLANS } from "@noisefloor/domain/access/plan.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { storeOwnAddresses } from "@noisefloor/query/feeds/guard/own-addresses.ts";
import { type FeedsOptions, openFeeds } from "@noisefloor/query/feeds/service/feeds.ts";
import { NEVER_MS } from "./caches.ts";
import { type AskedApp, makeApp } from "./http.ts";
import { RETENTION_DAYS, type World } from "./world.ts";

/** Another process that serves the feeds of a world: it has nothing in memory that the store does not have. */
export type FeedProcess = {
  readonly app: AskedApp;
  /** Reads what other processes have changed, as the service does every two seconds. */
  look(): Promise<void>;
  stop(): Promise<void>;
};

export async function startFeedProcess(
  world: World,
  now: () => number,
  more: Partial<FeedsOptions> = {},
): Promise<FeedProcess> {
  const { client, catalogue, networks } = world;
  const cache = await openAccessCache(client, { intervalMs: NEVER_MS });
  const options = {
    client,
    cache,
    catalogue,
    networks,
    accessCache: cache,
    plans: DEFAULT_PLANS,
    ownAddresses: [],
    listsSpoofable: false,
    now,
  };
  await storeOwnAddresses(client, cache, more.ownAddresses ?? [], now());
  const feeds = openFeeds({
    ...options,
    read: reader(client, { maxSeconds: 60 }),
    retentionDays: () => RETENTION_DAYS,
    maxSeconds: 60,
    ...more,
  });
  const service = { client, cache, feeds };
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) =>
    world.register(made, metrics, { accessCache: cache, feeds: service }),
  );
  return {
    app,
    async look() {
      await cache.refresh();
      await feeds.lists.poll();
    },
    async stop() {
      await app.close();
      await feeds.stop();
      cache.stop();
    },
  };
}
