import type { StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Ingest } from "@noisefloor/ingest/service/service.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { createCloseStack } from "../framework/close-stack.ts";
import type { Store } from "../store/store.ts";
import { readVersion } from "../version.ts";
import { openAddressIndex } from "./address-index.ts";
import { type Cache, openCaches } from "./caches.ts";
import { openClients } from "./clients.ts";
import { openFacetIndex } from "./facet-index.ts";
import { warnOfExposure } from "./http/exposure.ts";
import { createApp, finishApp } from "./http/http.ts";
import { createTlsEndpoints, type ListenUrls, listen } from "./http/listen.ts";
import { openIngest } from "./ingest.ts";
import { openQuery } from "./query.ts";
import { writeProcessNote } from "./reports/process-note.ts";
import { startSelfReport } from "./reports/self-report.ts";
import type { Roles, ServiceContext } from "./service-context.ts";

export type RunningService = ListenUrls & {
  /** Reads new and revoked keys now instead of at the next poll. */
  refreshKeys(): Promise<void>;
  /** Whether this process takes observations without a key at the moment. */
  isIntakeOpen(): boolean;
  /** Rejects when a part has failed for good: the process should end and be restarted. */
  readonly failure: Promise<never>;
  /** Stops listening, drains the open requests and the current batch, and closes everything but the store. */
  stop(): Promise<void>;
};

/** Runs intake, query or both on one port, and further ones for HTTPS if configured, over a store that is ready. */
export async function serve(
  roles: Roles,
  store: Store,
  settings: Settings,
  log: Logger,
  metrics = createMetrics(),
): Promise<RunningService> {
  const closeStack = createCloseStack();
  try {
    const running = await openServices({ roles, store, settings, log, metrics, closeStack });
    return { ...running, stop: closeStack.closeAll };
  } catch (error) {
    // A part left open would go on polling a store that the caller closes, and log errors.
    await closeStack.closeAll();
    throw error;
  }
}

/** Opens every part after those that it uses. It listens last, so that a shutdown drains requests before all else. */
async function openServices(context: ServiceContext): Promise<Omit<RunningService, "stop">> {
  const { store, settings, log } = context;
  const clients = openClients(context);
  const caches = await openCaches(context, clients.polling);
  const isIntakeOpen = () => ingest?.isOpen() ?? false;
  const app = await createApp(context, isIntakeOpen);
  const tls = await createTlsEndpoints(context, app);
  const index = await openAddressIndex(context, clients.index, caches);
  const facetIndex = await openFacetIndex(context, clients, caches);
  const ingest = await openIngest(context, clients, caches, index);
  ingest?.register(app);
  await openQuery(context, app, clients, caches, { index, facetIndex });
  startSelfReport(context, clients.polling, readVersion());
  registerCacheAges(
    context,
    new Map([...caches.byName, ...Object.entries({ ...index?.caches, ...(facetIndex && { facets: facetIndex }) })]),
  );
  await finishApp(context, app, clients, { ...index?.checks, ...ingest?.checks });
  warnOfExposure(settings.http, { isIntakeOpen: isIntakeOpen() }, log);
  const urls = await listen(context, app, tls);
  await writeNote(context, urls);
  await ingest?.start();
  return {
    ...urls,
    refreshKeys: caches.access.refresh,
    isIntakeOpen,
    failure: firstFailure(ingest, store.server.ended, log),
  };
}

/** Says in the data directory where this process listens. */
async function writeNote({ roles, settings, log, closeStack }: ServiceContext, { url }: ListenUrls): Promise<void> {
  const { dataDir } = settings.clickhouse;
  const names = Object.entries(roles).flatMap(([name, isOurs]) => (isOurs ? [name] : []));
  const note = { pid: process.pid, roles: names, url, version: readVersion(), startedAt: Date.now() };
  closeStack.add(await writeProcessNote(dataDir, Number(new URL(url).port), note, log));
}

function registerCacheAges({ metrics }: ServiceContext, caches: ReadonlyMap<string, Cache>): void {
  metrics.gaugeBy(
    "noisefloor_cache_age_seconds",
    "Seconds since a cache was last known to be up to date",
    "cache",
    () => [...caches].map(([name, cache]) => [name, cache.ageSeconds()] as const),
  );
}

function firstFailure(ingest: Ingest | undefined, serverEnded: Promise<StoreError>, log: Logger): Promise<never> {
  const serverFailure = serverEnded.then((error): never => {
    throw error;
  });
  const failure = Promise.race([serverFailure, ...(ingest === undefined ? [] : [ingest.failure])]);
  failure.catch((error: unknown) => log.debug({ err: error }, "a part of the service failed for good"));
  return failure;
}
