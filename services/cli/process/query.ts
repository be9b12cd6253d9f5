import { join } from "node:path";
import { explainMissingRight } from "@noisefloor/clickhouse/client/errors.ts";
import { type ReaderOptions, reader } from "@noisefloor/clickhouse/client/query.ts";
import type { AddressIndex } from "@noisefloor/query/address-index/ask-index.ts";
import { registerQuery } from "@noisefloor/query/app/app.ts";
import type { FacetIndex } from "@noisefloor/query/facet-index/facet-index.ts";
import { storeOwnAddresses } from "@noisefloor/query/feeds/guard/own-addresses.ts";
import { type FeedHealth, type Feeds, openFeeds } from "@noisefloor/query/feeds/service/feeds.ts";
import { readExplorer } from "@noisefloor/query/pages/explorer.ts";
import { type LookupLimit, localLookupLimit, sharedLookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { EXPLORER_DIRECTORY } from "../paths.ts";
import type { Caches } from "./caches.ts";
import type { Clients } from "./clients.ts";
import type { HttpApp } from "./http/http.ts";
import type { ServiceContext } from "./service-context.ts";
import { openWatchesOf } from "./watches.ts";

/** How soon a changed feed or guard list is refreshed, by whichever process looks first. */
const FEED_LOOK_MS = 2_000;

/** Logs the first refresh of a feed that fails, and the first that succeeds again. */
function logFeedRefreshes(log: Logger) {
  const failing = new Set<string>();
  return ({ id, name }: { readonly id: string; readonly name: string }, error: unknown): void => {
    if (error === undefined) {
      if (failing.delete(id)) log.info({ feed: name }, "refresh of a feed succeeded again");
    } else if (!failing.has(id)) {
      failing.add(id);
      log.warn({ err: error, feed: name }, "refresh of a feed failed; its readers get the last list");
    }
  };
}

function addFeedMetrics({ gaugeOf }: ServiceContext["metrics"], feeds: Pick<Feeds, "health">): void {
  const add = (name: `noisefloor_feed_${string}`, help: string, read: (health: FeedHealth) => number) =>
    gaugeOf(name, help, ["workspace", "feed"], () =>
      feeds.health().map((health) => [[health.feed.workspaceId, health.feed.name], read(health)] as const),
    );
  add("noisefloor_feed_age_seconds", "Seconds since a feed was refreshed last", ({ refreshedAt }) =>
    Math.max(0, (Date.now() - refreshedAt) / 1_000),
  );
  add("noisefloor_feed_addresses", "Addresses that a feed lists", ({ count }) => count);
  add("noisefloor_feed_refresh_failures", "Refreshes of a feed that failed in a row", ({ failures }) => failures);
  add(
    "noisefloor_feed_fell_from",
    "Addresses that a feed listed before it lost half of them, or all, at one refresh in the last day; 0 when it did not",
    ({ fellFrom }) => fellFrom,
  );
  add(
    "noisefloor_feed_last_use_timestamp_seconds",
    "When a token of a feed was used last, a few minutes late at most; 0 for never",
    ({ lastUsedAt }) => lastUsedAt / 1_000,
  );
  add(
    "noisefloor_feed_silent_tokens",
    "Tokens of a feed that were in regular use in the last week, and were not used for a day",
    ({ silentTokens }) => silentTokens,
  );
}

/** Registers the query interface, when the process has that role. */
export async function openQuery(
  context: ServiceContext,
  app: HttpApp,
  { lookups }: Pick<Clients, "lookups">,
  caches: Caches,
  { index, facetIndex }: { readonly index: AddressIndex | undefined; readonly facetIndex: FacetIndex | undefined },
): Promise<void> {
  const { catalogue, retentionDays, access, networks, watches: watchCache } = caches;
  if (networks === undefined || watchCache === undefined) return;
  const { store, settings, metrics } = context;
  const publicUrl = settings.http.publicUrl ?? `http://localhost:${settings.http.port}`;
  const readOptions: ReaderOptions = {
    maxSeconds: settings.queryTimeoutSeconds,
    onEnd: (query, outcome, seconds) => metrics.queryDuration.observe({ query, outcome }, seconds),
  };
  const read = reader(store.client, { ...readOptions, priority: "background" });
  const { ownAddresses } = settings.sensorLogs;
  await storeOwnAddresses(store.client, access, ownAddresses, Date.now()).catch((error: unknown) => {
    // A user without feeds of its own needs no right to write.
    if (explainMissingRight(error) === undefined) throw error;
    context.log.warn(
      { err: error },
      "could not store OWN_ADDRESSES; a changed one holds from the next refresh of a feed",
    );
  });
  const feeds = openFeeds({
    client: store.client,
    cache: access,
    read,
    catalogue,
    networks,
    accessCache: access,
    plans: settings.plans,
    ownAddresses,
    listsSpoofable: settings.feeds.listsSpoofable,
    retentionDays,
    now: Date.now,
    maxSeconds: settings.queryTimeoutSeconds,
    lookEveryMs: FEED_LOOK_MS,
    isBusy: () => app.admission.queued() > 0,
    onRefresh: logFeedRefreshes(context.log),
    onLookError: (error) => context.log.error({ err: error }, "feeds cannot be looked through"),
    onTokenUseError: (error) =>
      context.log.warn({ err: error }, "could not store the last use of feeds' tokens, retrying"),
  });
  context.closeStack.add(feeds.stop);
  metrics.gauge(
    "noisefloor_feed_attackers_held_back",
    "The most addresses that the guard holds back of a feed although they attacked",
    feeds.mostAttackers,
  );
  addFeedMetrics(metrics, feeds);
  const watches = openWatchesOf(context, { ...caches, networks, watches: watchCache, read, facetIndex, publicUrl });
  registerQuery(app, {
    read,
    watches,
    readSingle: reader(lookups, { ...readOptions, priority: "foreground" }),
    index,
    facetIndex,
    catalogue,
    networks,
    accessCache: access,
    feeds: { feeds, cache: access, client: store.client },
    plans: settings.plans,
    limit: await openLookupLimit(context),
    metrics,
    plansUrl: settings.plansUrl ?? `${publicUrl}/plans`,
    retentionDays,
    publicUrl,
    explorer: readExplorer(EXPLORER_DIRECTORY),
    now: Date.now,
  });
}

/**
 * Opens the count of each caller's lookups: in Redis for all processes when that is configured, else in a file of this
 * process. The port names the file, as no process beside this one has it and a restarted one has it again.
 */
async function openLookupLimit({ settings, log, metrics, closeStack }: ServiceContext): Promise<LookupLimit> {
  const { redisUrl, clickhouse, http } = settings;
  const file = join(clickhouse.dataDir, `lookups-${http.port}.json`);
  const limit =
    redisUrl === undefined
      ? await localLookupLimit(file, Date.now, log)
      : await sharedLookupLimit(redisUrl, Date.now, log);
  closeStack.add(limit.close);
  metrics.gauge(
    "noisefloor_lookup_counter_up",
    "1 while lookups are counted where they are configured to be; 0 while Redis is down and this process counts alone",
    () => (limit.state() === "shared-down" ? 0 : 1),
  );
  return limit;
}
