import { join } from "node:path";
import { watchAccess } from "@noisefloor/clickhouse/access-directory.ts";
import { isTransient } from "@noisefloor/clickhouse/errors.ts";
import { watchSensors } from "@noisefloor/clickhouse/sensor-directory.ts";
import { watchTags } from "@noisefloor/clickhouse/tag-catalogue.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { closeHttpApp, createHttpApp, sealRoutes } from "@noisefloor/http/app.ts";
import { createIngest, INGEST_PATHS } from "@noisefloor/ingest/service.ts";
import { QUERY_PATHS, registerQuery } from "@noisefloor/query/app.ts";
import { type LookupLimit, localLookupLimit, sharedLookupLimit } from "@noisefloor/query/lookup-limit.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import type { Store } from "./store.ts";

/** Which of the services one process runs. */
export type Roles = { readonly ingest: boolean; readonly query: boolean };

export type RunningService = {
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  /** Rejects when a part has died for good, so that the process should end and be started anew. */
  readonly failure: Promise<never>;
  /** Answers what is under way, takes nothing new, and lets go of everything but the store. */
  stop(): Promise<void>;
};

/** Runs intake, query or both on one port over a store that is ready. */
export async function serve(roles: Roles, store: Store, settings: Settings, log: Logger): Promise<RunningService> {
  const now = Date.now;
  const { client, server, retentionDays } = store;
  const toldAs = (what: string) => (error: unknown) =>
    log.warn({ err: error }, `${what} cannot be read: the last known state goes on`);
  const catalogue = await watchTags(client, { onError: toldAs("the tag catalogue") });
  // Fastify would say once more where it listens.
  const app = createHttpApp(log.child({}, { level: "warn" }), isTransient, settings.http.trustedProxies);
  const sensors = roles.ingest ? await watchSensors(client, { onError: toldAs("the sensors' keys") }) : undefined;
  const ingest = sensors
    ? await createIngest({
        client,
        catalogue,
        retentionDays,
        sensorKeys: settings.http.sensorKeys,
        sensors,
        kafka: settings.kafka,
        log,
        now,
      })
    : undefined;
  ingest?.register(app);
  const directory = roles.query ? await watchAccess(client, { onError: toldAs("workspaces and keys") }) : undefined;
  const limit = roles.query ? await openLimit(settings, log) : undefined;
  if (directory !== undefined && limit !== undefined) {
    const plansUrl =
      settings.plansUrl ?? `${settings.http.publicUrl ?? `http://localhost:${settings.http.port}`}/plans`;
    const publicUrl = settings.http.publicUrl ?? `http://localhost:${settings.http.port}`;
    registerQuery(app, {
      client,
      catalogue,
      directory,
      plans: settings.plans,
      limit,
      plansUrl,
      retentionDays,
      publicUrl,
      now,
    });
  }
  app.after(() => sealRoutes(app, [...(roles.ingest ? INGEST_PATHS : []), ...(roles.query ? QUERY_PATHS : [])]));
  await app.listen({ host: settings.http.host, port: settings.http.port });
  await ingest?.start();

  const address = app.server.address();
  const port = address !== null && typeof address === "object" ? address.port : settings.http.port;
  const host =
    settings.http.host === "127.0.0.1" || settings.http.host === "0.0.0.0" ? "localhost" : settings.http.host;
  return {
    url: `http://${host}:${port}`,
    failure: firstFailure(ingest?.failure, server.ended, log),
    async stop() {
      await closeHttpApp(app);
      await ingest?.stop();
      catalogue.stop();
      sensors?.stop();
      directory?.stop();
      await limit?.close();
    },
  };
}

/** One count for all processes when Redis is configured, else this process's own, kept in the data directory. */
async function openLimit(settings: Settings, log: Logger): Promise<LookupLimit> {
  if (settings.redisUrl !== undefined) return sharedLookupLimit(settings.redisUrl, Date.now, log);
  return localLookupLimit(join(settings.clickhouse.dataDir, "lookups.json"), Date.now, log);
}

function firstFailure(consumer: Promise<never> | undefined, ended: Promise<void>, log: Logger): Promise<never> {
  const serverEnded = ended.then((): never => {
    throw new Error("the embedded ClickHouse has ended");
  });
  const failure = Promise.race([serverEnded, ...(consumer === undefined ? [] : [consumer])]);
  failure.catch((error: unknown) => log.debug({ err: error }, "a part of the service has ended"));
  return failure;
}
