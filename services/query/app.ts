import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Plans } from "@noisefloor/domain/plan.ts";
import { SHARED_GLOBAL } from "@noisefloor/domain/scope.ts";
import type { Operation } from "@noisefloor/http/operation.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import { addressLookup } from "./address-lookup.ts";
import { authenticator } from "./auth.ts";
import { lookupCounting } from "./count-lookups.ts";
import type { LookupLimit } from "./lookup-limit.ts";
import { registerPages } from "./pages/register.ts";
import { getCommunityIp, registerCommunity } from "./routes/community.ts";
import { getIp, getIps, registerIp } from "./routes/ip.ts";
import { LEGACY_OPERATIONS, registerLegacy } from "./routes/legacy.ts";
import { getTagActivity, registerTagActivity } from "./routes/tag-activity.ts";
import { listTags, registerTags } from "./routes/tags.ts";
import { getTimeline, registerTimeline } from "./routes/timeline.ts";

export type QueryDeps = {
  readonly read: Read;
  /** The same for lookups of single addresses, which must not queue behind larger questions. */
  readonly readSingle: Read;
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
  const lookUp = addressLookup([SHARED_GLOBAL], { ...lookupDeps, read: deps.readSingle }, (addresses) => {
    metrics.lookups.inc(addresses);
    metrics.lookupQueries.inc();
  });
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
