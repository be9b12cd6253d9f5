import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Plans } from "@noisefloor/domain/plan.ts";
import type { Operation } from "@noisefloor/http/operation.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { getTagActivity, registerTagActivity } from "./activity/route.ts";
import { lookUpInStore } from "./address/lookup.ts";
import { getIp, getIps, registerIp } from "./address/route.ts";
import { type AddressIndex, lookUpInMemory } from "./address-index/lookup.ts";
import { authenticator } from "./auth.ts";
import { getCommunityIp, registerCommunity } from "./community/route.ts";
import { LEGACY_OPERATIONS, registerLegacy } from "./legacy/route.ts";
import { registerPages } from "./pages/register.ts";
import { lookupCounting } from "./rate-limit/count-lookups.ts";
import type { LookupLimit } from "./rate-limit/limit.ts";
import { listTags, registerTags } from "./tags/route.ts";
import { getTimeline, registerTimeline } from "./timeline/route.ts";

export type QueryDeps = {
  readonly read: Read;
  /** The same for lookups of single addresses, which must not queue behind larger questions. */
  readonly readSingle: Read;
  /** Answers lookups of single addresses from memory; without it each asks the store. */
  readonly index?: AddressIndex | undefined;
  readonly catalogue: TagCatalogue;
  readonly directory: AccessCache;
  readonly plans: Plans;
  readonly limit: LookupLimit;
  readonly metrics: Pick<Metrics, "lookups" | "lookupQueries" | "lookupsRefused">;
  /** The page that callers who have hit their limit are pointed to. */
  readonly plansUrl: string;
  /** As it holds now. */
  readonly retentionDays: () => number;
  /** What links in answers start with, without a slash at the end. */
  readonly publicUrl: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Every operation of the query interface, in the order of its description. */
export const QUERY_OPERATIONS: readonly Operation[] = [
  getCommunityIp,
  getIp,
  getIps,
  getTimeline,
  listTags,
  getTagActivity,
  ...LEGACY_OPERATIONS,
];

/** Registers the query interface. */
export function registerQuery(app: FastifyInstance, deps: QueryDeps): void {
  const { read, retentionDays, now, catalogue, metrics } = deps;
  const lookupDeps = { read, retentionDays, now };
  const inStore = lookUpInStore({ ...lookupDeps, read: deps.readSingle }, (addresses) => {
    metrics.lookups.inc(addresses);
    metrics.lookupQueries.inc();
  });
  const lookUp = deps.index === undefined ? inStore : lookUpInMemory(deps.index, inStore);
  const authenticate = authenticator(deps.directory, deps.plans);
  const countLookups = lookupCounting({
    limit: deps.limit,
    onRefused: (plan) => metrics.lookupsRefused.inc({ plan }),
    plansUrl: deps.plansUrl,
  });

  registerCommunity(app, { lookUp, authenticate, countLookups, publicUrl: deps.publicUrl });
  registerTags(app, { catalogue, authenticate });
  registerIp(app, { ...lookupDeps, catalogue, authenticate, countLookups, lookUp });
  registerLegacy(app, { ...lookupDeps, catalogue, authenticate, countLookups, lookUp });
  registerTimeline(app, { ...lookupDeps, authenticate, countLookups });
  registerTagActivity(app, { ...lookupDeps, catalogue, authenticate });
  const { plans, publicUrl } = deps;
  registerPages(app, { ...lookupDeps, catalogue, authenticate, countLookups, plans, publicUrl });
}
