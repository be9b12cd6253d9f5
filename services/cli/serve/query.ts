import { type ReaderOptions, reader } from "@noisefloor/clickhouse/client/query.ts";
import type { AddressIndex } from "@noisefloor/query/address-index/memory-lookup.ts";
import { registerQuery } from "@noisefloor/query/app.ts";
import { readExplorer } from "@noisefloor/query/pages/explorer.ts";
import { EXPLORER_DIRECTORY } from "../paths.ts";
import type { Caches } from "./caches.ts";
import type { Clients } from "./clients.ts";
import type { HttpApp } from "./http/http.ts";
import { openLookupLimit } from "./lookup-limit.ts";
import type { ServiceContext } from "./service-context.ts";

/** Registers the query interface, when the process has that role. */
export async function openQuery(
  context: ServiceContext,
  app: HttpApp,
  { lookups }: Pick<Clients, "lookups">,
  { catalogue, retentionDays, access, networks }: Caches,
  index: AddressIndex | undefined,
): Promise<void> {
  if (access === undefined || networks === undefined) return;
  const { store, settings, metrics } = context;
  const publicUrl = settings.http.publicUrl ?? `http://localhost:${settings.http.port}`;
  const readOptions: ReaderOptions = {
    maxSeconds: settings.queryTimeoutSeconds,
    onEnd: (query, outcome, seconds) => metrics.queryDuration.observe({ query, outcome }, seconds),
  };
  registerQuery(app, {
    read: reader(store.client, { ...readOptions, priority: "background" }),
    readSingle: reader(lookups, { ...readOptions, priority: "foreground" }),
    index,
    catalogue,
    networks,
    accessCache: access,
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
