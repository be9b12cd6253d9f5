import { join } from "node:path";
import { watchAccess } from "@noisefloor/clickhouse/access-directory.ts";
import { connect } from "@noisefloor/clickhouse/client.ts";
import { watchDisk } from "@noisefloor/clickhouse/disk-space.ts";
import type { StoreError } from "@noisefloor/clickhouse/errors.ts";
import { readMigrations } from "@noisefloor/clickhouse/migrate.ts";
import { type ReadTerms, reader } from "@noisefloor/clickhouse/query.ts";
import { storeChecks } from "@noisefloor/clickhouse/readiness.ts";
import { watchRetention } from "@noisefloor/clickhouse/retention.ts";
import { watchSensors } from "@noisefloor/clickhouse/sensor-directory.ts";
import { watchTags } from "@noisefloor/clickhouse/tag-catalogue.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { createHttpApp, finishHttpApp } from "@noisefloor/http/app.ts";
import { closeHttpApp, listenHttpApp } from "@noisefloor/http/connections.ts";
import { storeRefusal } from "@noisefloor/http/store-refusal.ts";
import { createTlsServer } from "@noisefloor/http/tls.ts";
import { createIngest, INGEST_OPERATIONS } from "@noisefloor/ingest/service.ts";
import { QUERY_OPERATIONS, registerQuery } from "@noisefloor/query/app.ts";
import { type LookupLimit, localLookupLimit, sharedLookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { MIGRATIONS_DIRECTORY } from "./paths.ts";
import { openAddressIndex } from "./serve/address-index.ts";
import { warnOfExposure } from "./serve/exposure.ts";
import type { Store } from "./store.ts";

/** A server that takes longer to say what has changed is away. Less than a key that was revoked may still work. */
const WATCH_TIMEOUT_MS = 4_000;
/** For reading all addresses, a slice at a time. */
const INDEX_TIMEOUT_MS = 60_000;

/** Which of the services one process runs. */
export type Roles = { readonly ingest: boolean; readonly query: boolean };

export type RunningService = {
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  /** The same over HTTPS; undefined when no certificate is configured. */
  readonly httpsUrl: string | undefined;
  /** Takes up keys of callers that were made a moment ago. */
  refreshKeys(): Promise<void>;
  /** Rejects when a part has died for good, so that the process should end and be started anew. */
  readonly failure: Promise<never>;
  /** Answers what is under way, takes nothing new, and lets go of everything but the store. */
  stop(): Promise<void>;
};

/** What is to be closed, in the order in which it was opened. */
type Opened = (() => unknown)[];

async function closeAll(opened: Opened): Promise<void> {
  for (const close of opened.splice(0).reverse()) await close();
}

/** Runs intake, query or both on one port, and one more for HTTPS if that is configured, over a store that is ready. */
export async function serve(roles: Roles, store: Store, settings: Settings, log: Logger): Promise<RunningService> {
  const opened: Opened = [];
  try {
    const running = await assemble(roles, store, settings, log, opened);
    return { ...running, stop: () => closeAll(opened) };
  } catch (error) {
    // What was opened before the failure would go on asking a store that is about to be closed, and say so.
    await closeAll(opened);
    throw error;
  }
}

/** @param opened gets what is to be closed at the end, or if a later part fails. */
async function assemble(
  roles: Roles,
  store: Store,
  settings: Settings,
  log: Logger,
  opened: Opened,
): Promise<Omit<RunningService, "stop">> {
  const now = Date.now;
  const { client, server } = store;
  const { http, queryTimeoutSeconds } = settings;
  const metrics = createMetrics();
  // Connections of their own for what must not queue behind large questions and inserts.
  const watching = connect(server.connection, "noisefloor-watch", WATCH_TIMEOUT_MS);
  const lookingUp = connect(server.connection, "noisefloor-lookup");
  // Large questions may take every connection of a client; what comes in shall not wait for them.
  const storing = connect(server.connection, "noisefloor-ingest");
  opened.push(
    () => watching.close(),
    () => lookingUp.close(),
    () => storing.close(),
  );
  const toldAs = (what: string) => ({
    onError: (error: unknown) => log.warn({ err: error }, `${what} cannot be read; serving the last known state`),
    onRecovery: () => log.info(`${what} can be read again`),
  });
  const catalogue = await watchTags(watching, toldAs("the tag catalogue"));
  opened.push(catalogue.stop);
  const retention = await watchRetention(watching, toldAs("the retention"));
  opened.push(retention.stop);
  const caches = new Map<string, { ageSeconds(): number }>([
    ["tags", catalogue],
    ["retention", retention],
  ]);

  const app = await createHttpApp({
    log,
    metrics,
    refusalOf: storeRefusal,
    deadlineMs: queryTimeoutSeconds * 1_000,
    trustedProxies: http.trustedProxies,
    logsClientAddresses: http.logsClientAddresses,
    corsOrigins: http.corsOrigins,
    site: {
      host: http.host,
      publicUrl: http.publicUrl,
      allowedHosts: http.allowedHosts,
      isIntakeOpen: () => ingest?.isOpen() ?? false,
    },
    limits: http.limits,
  });
  const secure = http.tls && { server: await createTlsServer(app, http.tls, log), port: http.tls.port };
  const sensors = roles.ingest ? await watchSensors(watching, toldAs("the sensors' keys")) : undefined;
  if (sensors !== undefined) {
    opened.push(sensors.stop);
    caches.set("sensors", sensors);
  }
  const disk = roles.ingest
    ? await watchDisk(watching, {
        ...toldAs("the disk's free space"),
        floorBytes: settings.minFreeDiskBytes,
        onFloor: (isBelow, freeBytes) =>
          isBelow
            ? log.error({ freeBytes }, "ClickHouse's disk is nearly full; storing nothing until there is room")
            : log.info({ freeBytes }, "ClickHouse's disk has room again"),
        onUnknown: (error) =>
          log.warn({ err: error }, "free disk space cannot be read; the intake goes on until the disk is full"),
      })
    : undefined;
  if (disk !== undefined) {
    opened.push(disk.stop);
    metrics.gauge(
      "noisefloor_store_disk_free_bytes",
      "Free bytes of the disk that ClickHouse keeps the observations on",
      disk.freeBytes,
    );
    metrics.gauge(
      "noisefloor_store_disk_floor_bytes",
      "The free bytes below which the intake stores nothing",
      disk.floorBytes,
    );
  }
  const indexing = connect(server.connection, "noisefloor-index", INDEX_TIMEOUT_MS);
  opened.push(() => indexing.close());
  const index =
    roles.query && settings.lookupIndexAddresses > 0
      ? await openAddressIndex({
          client: indexing,
          catalogue,
          limit: settings.lookupIndexAddresses,
          retentionDays: retention.current,
          now,
          metrics,
          log,
          logFailures: toldAs,
        })
      : undefined;
  if (index !== undefined) {
    opened.push(index.stop);
    for (const [name, cache] of Object.entries(index.caches)) caches.set(name, cache);
  }
  const ingest = sensors
    ? await createIngest({
        client: storing,
        catalogue,
        retentionDays: retention.current,
        sensorKeys: http.sensorKeys,
        sensors,
        disk,
        deadLetterBytesPerDay: settings.deadLetterBytesPerDay,
        kafka: settings.kafka,
        onStored: index?.onStored,
        metrics,
        log,
        now,
      })
    : undefined;
  if (ingest !== undefined) {
    opened.push(ingest.stop);
    ingest.register(app);
  }
  const directory = roles.query ? await watchAccess(watching, toldAs("workspaces and keys")) : undefined;
  if (directory !== undefined) opened.push(directory.stop);
  const limit = roles.query ? await openLimit(settings, log) : undefined;
  if (limit !== undefined) opened.push(limit.close);
  if (directory !== undefined && limit !== undefined) {
    caches.set("keys", directory);
    const publicUrl = http.publicUrl ?? `http://localhost:${http.port}`;
    const terms: ReadTerms = {
      maxSeconds: queryTimeoutSeconds,
      onEnd: (query, outcome, seconds) => metrics.queryDuration.observe({ query, outcome }, seconds),
    };
    registerQuery(app, {
      read: reader(client, { ...terms, priority: "background" }),
      readSingle: reader(lookingUp, { ...terms, priority: "foreground" }),
      index,
      catalogue,
      directory,
      plans: settings.plans,
      limit,
      metrics,
      plansUrl: settings.plansUrl ?? `${publicUrl}/plans`,
      retentionDays: retention.current,
      publicUrl,
      now,
    });
  }
  metrics.gaugeBy(
    "noisefloor_cache_age_seconds",
    "Seconds since what is kept in memory was last known to be up to date",
    "cache",
    () => [...caches].map(([name, cache]) => [name, cache.ageSeconds()] as const),
  );
  if (limit !== undefined) {
    metrics.gauge(
      "noisefloor_lookup_counter_up",
      "1 while lookups are counted where they are meant to be; 0 while the shared counter is away and this process counts for itself",
      () => (limit.state() === "shared-down" ? 0 : 1),
    );
  }
  const migrations = await readMigrations(MIGRATIONS_DIRECTORY);
  await finishHttpApp(app, {
    operations: [...(roles.query ? QUERY_OPERATIONS : []), ...(roles.ingest ? INGEST_OPERATIONS : [])],
    checks: { ...storeChecks(watching, migrations), ...index?.checks, ...ingest?.checks },
    metrics,
    metricsToken: http.metricsToken,
    log,
  });
  // Last, so that it is closed first: answers under way need all the others.
  opened.push(() => closeHttpApp(app, secure?.server));
  warnOfExposure(http, { isIntakeOpen: ingest?.isOpen() ?? false }, log);
  const securePort = await listenHttpApp(app, settings.http, secure);
  await ingest?.start();

  const address = app.server.address();
  const port = address !== null && typeof address === "object" ? address.port : settings.http.port;
  const host = hostInUrl(http.host);
  return {
    url: `http://${host}:${port}`,
    httpsUrl: securePort === undefined ? undefined : `https://${host}:${securePort}`,
    refreshKeys: async () => directory?.refresh(),
    failure: firstFailure(ingest?.failure, server.ended, log),
  };
}

/** Where a person on this machine reaches what listens there. */
function hostInUrl(host: string): string {
  if (["127.0.0.1", "0.0.0.0", "::1", "::"].includes(host)) return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

/**
 * One count for all processes when Redis is configured, else this process's own, kept in the data directory: by its port,
 * which no other process beside it has, and it still has after a restart.
 */
async function openLimit(settings: Settings, log: Logger): Promise<LookupLimit> {
  if (settings.redisUrl !== undefined) return sharedLookupLimit(settings.redisUrl, Date.now, log);
  const { clickhouse, http } = settings;
  return localLookupLimit(join(clickhouse.dataDir, `lookups-${http.port}.json`), Date.now, log);
}

function firstFailure(consumer: Promise<never> | undefined, ended: Promise<StoreError>, log: Logger): Promise<never> {
  const serverEnded = ended.then((error): never => {
    throw error;
  });
  const failure = Promise.race([serverEnded, ...(consumer === undefined ? [] : [consumer])]);
  failure.catch((error: unknown) => log.debug({ err: error }, "a part of the service has ended"));
  return failure;
}
