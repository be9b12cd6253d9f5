import { hostname } from "node:os";
import type { WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { NetworksCache } from "@noisefloor/query/address/benign-networks.ts";
import { callerWithLimits } from "@noisefloor/query/auth.ts";
import type { FacetIndex } from "@noisefloor/query/facet-index/facet-index.ts";
import { answerInMemory } from "@noisefloor/query/search/in-memory.ts";
import { destinationPolicy } from "@noisefloor/query/watches/deliver/policy.ts";
import { openSender } from "@noisefloor/query/watches/deliver/sender.ts";
import { openWatches, type Watches } from "@noisefloor/query/watches/service.ts";
import type { Caches } from "./caches.ts";
import type { ServiceContext } from "./service-context.ts";
import { followWatchesFile } from "./watches-file.ts";

/** How often one of the processes looks for what watches wait for. */
const LOOK_MS = 2_000;

type WatchesParts = Pick<Caches, "catalogue" | "access" | "retentionDays" | "changes"> & {
  readonly watches: WatchCache;
  readonly networks: NetworksCache;
  readonly read: Read;
  readonly facetIndex: FacetIndex | undefined;
  /** The base of links, without a trailing slash. */
  readonly publicUrl: string;
};

/** Looks after the watches, beside the other processes that do, and delivers what they find. */
export function openWatchesOf(
  { store, settings, metrics, log, closeStack }: ServiceContext,
  { watches: cache, networks, catalogue, access, retentionDays, changes, read, facetIndex, publicUrl }: WatchesParts,
): Watches {
  const withLimits = callerWithLimits(settings.plans);
  const policy = destinationPolicy(settings.watchDestinations);
  const mail = settings.mail;
  const failing = new Set<string>();
  const events = metrics.watchEvents;
  const watches = openWatches({
    client: store.client,
    cache,
    callerOf(workspaceId) {
      const caller = access.callerOfWorkspace(workspaceId);
      return caller && withLimits(caller);
    },
    deps: {
      ...{ read, catalogue, networks, retentionDays, now: Date.now },
      memory: facetIndex && answerInMemory(facetIndex),
    },
    changes,
    publicUrl,
    sender: openSender({ policy, mail, hostName: hostname(), now: Date.now }),
    rules: { policy, sendsMail: mail !== undefined },
    onEvent: (type) => events.inc({ type }),
    onAttempt: (type, isDelivered) =>
      metrics.watchDeliveries.inc({ type, outcome: isDelivered ? "delivered" : "failed" }),
    onError: (what, error) => log.error({ err: error, what }, "watches are not looked after, retrying"),
    onRecovery: (what) => log.info({ what }, "watches are looked after again"),
    onFailure(watch, error) {
      if (failing.has(watch)) return;
      failing.add(watch);
      log.warn({ err: error, watch }, "a watch cannot be looked after");
    },
    everyMs: LOOK_MS,
  });
  closeStack.add(watches.stop);
  if (settings.watchesFile !== undefined) {
    const rules = { ...watches, catalogue, now: Date.now, retentionDays, accessCache: access };
    closeStack.add(followWatchesFile(settings.watchesFile, rules, log));
  }
  const state = watches.state;
  metrics.gauge("noisefloor_watches_leader", "1 while this process looks after the watches of all", () =>
    state().isLeader ? 1 : 0,
  );
  metrics.gauge(
    "noisefloor_watches_age_seconds",
    "Seconds since this process last saw that the watches are looked after, by itself or another one",
    () => state().ageSeconds,
  );
  metrics.gauge(
    "noisefloor_watches_undelivered",
    "Deliveries of events that wait or are tried again",
    () => state().undelivered,
  );
  return watches;
}
