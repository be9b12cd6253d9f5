import { readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { storeChecks } from "@noisefloor/clickhouse/schema/readiness.ts";
import { createHttpApp, finishHttpApp } from "@noisefloor/http/app.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { MIGRATIONS_DIRECTORY } from "../../paths.ts";
import { readVersion } from "../../version.ts";
import type { Clients } from "../clients.ts";
import type { ServiceContext } from "../service-context.ts";
import { storeHttpError } from "./store-http-error.ts";

export type HttpApp = Awaited<ReturnType<typeof createHttpApp>>;

/** Creates the application that all routes are registered on. @param isIntakeOpen whether senders need no key now. */
export function createApp({ settings, log, metrics }: ServiceContext, isIntakeOpen: () => boolean): Promise<HttpApp> {
  const { http, queryTimeoutSeconds } = settings;
  const { host, publicUrl, allowedHosts } = http;
  return createHttpApp({
    log,
    metrics,
    toHttpError: storeHttpError,
    deadlineMs: queryTimeoutSeconds * 1_000,
    trustedProxies: http.trustedProxies,
    accessLog: http.accessLog,
    logsClientAddresses: http.logsClientAddresses,
    corsOrigins: http.corsOrigins,
    site: { host, publicUrl, allowedHosts, isIntakeOpen },
    limits: http.limits,
  });
}

/** Completes the application with health, metrics and the API's description, after all routes are registered. */
export async function finishApp(
  { roles, settings, metrics, log }: ServiceContext,
  app: HttpApp,
  { polling }: Pick<Clients, "polling">,
  checks: Readonly<Record<string, () => Promise<void>>>,
): Promise<void> {
  const migrations = await readMigrations(MIGRATIONS_DIRECTORY);
  await finishHttpApp(app, {
    operations: [...(roles.query ? QUERY_OPERATIONS : []), ...(roles.ingest ? INGEST_OPERATIONS : [])],
    checks: { ...storeChecks(polling, migrations), ...checks },
    metrics,
    version: readVersion(),
    publicUrl: settings.http.publicUrl,
    metricsToken: settings.http.metricsToken,
    log,
  });
}
