import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Plans } from "@noisefloor/domain/access/plan.ts";
import type { Operation } from "@noisefloor/http/operations/operation.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { FastifyInstance } from "fastify";
import type { MaxInProcess } from "../activity/count.ts";
import { getTagActivity, registerTagActivity } from "../activity/route.ts";
import type { LookupCaches } from "../address/lookup-caches.ts";
import { type FindInMemory, findInMemory, lookUpInMemory } from "../address/memory-lookup.ts";
import { getIp, getIps, registerIp } from "../address/route.ts";
import { lookUpInStore } from "../address/store-lookup.ts";
import type { AddressIndex } from "../address-index/ask-index.ts";
import { ADDRESS_OBSERVATION_OPERATIONS } from "../address-observations/operations.ts";
import { registerAddressObservations } from "../address-observations/route.ts";
import { ANALYZE_OPERATIONS } from "../analyze/operations.ts";
import { registerAnalyze } from "../analyze/route.ts";
import { authenticator } from "../auth.ts";
import { HOSTED_CALLBACK_OPERATIONS } from "../callbacks/hosted/operations.ts";
import { registerHostedCallbacks } from "../callbacks/hosted/route.ts";
import { getCallbacks } from "../callbacks/operation.ts";
import { registerCallbacks } from "../callbacks/route.ts";
import { getCommunityIp, registerCommunity } from "../community/route.ts";
import { getCve, getCves } from "../cves/operations.ts";
import { registerCves } from "../cves/route.ts";
import type { FacetIndex } from "../facet-index/facet-index.ts";
import { limitTokens } from "../feeds/requests/readers.ts";
import { FEED_OPERATIONS, registerFeeds } from "../feeds/routes/register.ts";
import type { FeedsService } from "../feeds/service/feeds.ts";
import { LEGACY_OPERATIONS, registerLegacy } from "../legacy/route.ts";
import { legacySearch, registerLegacySearch } from "../legacy/search-route.ts";
import { getNetwork } from "../network/operation.ts";
import { registerNetwork } from "../network/route.ts";
import type { Explorer } from "../pages/explorer.ts";
import { registerPages } from "../pages/route.ts";
import { getPlans, registerPlans } from "../plans/route.ts";
import { lookupCounting } from "../rate-limit/count-lookups.ts";
import type { LookupLimit } from "../rate-limit/limit.ts";
import { searchAnswers } from "../search/answers.ts";
import { countSearch, searchIps } from "../search/operations.ts";
import { search, searchMetadata } from "../search/pages/operations.ts";
import { registerSearchPages } from "../search/pages/route.ts";
import { registerSearch } from "../search/route.ts";
import { earlierSearchStats, registerSearchStats, searchStats } from "../search/stats.ts";
import { registerValidateQuery, validateQuery } from "../search/validate.ts";
import { registerSearchValues, searchValues } from "../search/values.ts";
import { listSensors } from "../sensors/operation.ts";
import { registerSensors } from "../sensors/route.ts";
import { registerStats, STATS_OPERATIONS } from "../stats/route.ts";
import { getTagSummary, registerTagSummary } from "../summary/route.ts";
import { listTags, registerTags } from "../tags/route.ts";
import { getTagRule, registerTagRule } from "../tags/rule.ts";
import { getTimeline, registerTimeline } from "../timeline/route.ts";
import { TIMESERIES_OPERATIONS } from "../timeseries/operations.ts";
import { registerTimeseries } from "../timeseries/route.ts";
import { getToday } from "../today/operation.ts";
import { registerToday } from "../today/route.ts";
import type { WatchesService } from "../watches/routes/deps.ts";
import { registerWatches, WATCH_OPERATIONS } from "../watches/routes/register.ts";
import { lookForNewKeys } from "./new-keys.ts";

export type QueryDeps = {
  readonly read: Read;
  /** A client of its own for lookups of single addresses, so that they do not wait for larger queries. */
  readonly readSingle: Read;
  /** Serves lookups of single addresses from memory; without it, they query ClickHouse. */
  readonly index?: AddressIndex | undefined;
  /** Answers searches from memory; without it, the store does. */
  readonly facetIndex?: FacetIndex | undefined;
  /** The store classifies the addresses of a tag with more. */
  readonly maxListed?: number;
  /** The store counts the addresses of tags with more rows and addresses. */
  readonly maxInProcess?: MaxInProcess;
  readonly catalogue: TagCatalogue;
  /** The networks of benign services and actors. */
  readonly networks: LookupCaches["networks"];
  readonly accessCache: AccessCache;
  readonly feeds: FeedsService;
  readonly watches: WatchesService;
  readonly plans: Plans;
  readonly limit: LookupLimit;
  readonly metrics: Pick<Metrics, "lookups" | "lookupQueries" | "lookupsRejected">;
  /** The page that error responses of the rate limit link to. */
  readonly plansUrl: string;
  /** The current value. */
  readonly retentionDays: () => number;
  /** The base of links in responses, without a trailing slash. */
  readonly publicUrl: string;
  /** The pages in the browser; without it there are none. */
  readonly explorer?: Explorer | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** All operations, in the order of the OpenAPI document. */
export const QUERY_OPERATIONS: readonly Operation[] = [
  getCommunityIp,
  getIp,
  getIps,
  getTimeline,
  ...ADDRESS_OBSERVATION_OPERATIONS,
  getNetwork,
  search,
  searchMetadata,
  countSearch,
  searchIps,
  searchStats,
  searchValues,
  ...TIMESERIES_OPERATIONS,
  validateQuery,
  getCallbacks,
  ...HOSTED_CALLBACK_OPERATIONS,
  listTags,
  getTagRule,
  getTagActivity,
  getTagSummary,
  getCve,
  getCves,
  ...STATS_OPERATIONS,
  getToday,
  ...FEED_OPERATIONS,
  ...WATCH_OPERATIONS,
  listSensors,
  getPlans,
  ...LEGACY_OPERATIONS,
  legacySearch,
  earlierSearchStats,
  ...ANALYZE_OPERATIONS,
];

export function registerQuery(app: FastifyInstance, deps: QueryDeps): void {
  const { read, retentionDays, now, catalogue, networks, metrics } = deps;
  const lookupDeps = { read, retentionDays, now, catalogue, networks };
  const inStore = lookUpInStore({ ...lookupDeps, read: deps.readSingle }, (addresses) => {
    metrics.lookups.inc(addresses);
    metrics.lookupQueries.inc();
  });
  const inMemory: FindInMemory = deps.index === undefined ? () => undefined : findInMemory(deps.index, { networks });
  const lookUp = lookUpInMemory(inMemory, inStore);
  const authenticate = authenticator(deps.accessCache, deps.plans);
  const countLookups = lookupCounting({
    limit: deps.limit,
    onRejected: (plan) => metrics.lookupsRejected.inc({ plan }),
    plansUrl: deps.plansUrl,
  });

  lookForNewKeys(app, deps.accessCache);
  const routeDeps = { ...lookupDeps, authenticate, countLookups, lookUp, findInMemory: inMemory };
  const { index, maxListed, maxInProcess, plans, publicUrl } = deps;
  registerCommunity(app, routeDeps, publicUrl);
  registerTags(app, routeDeps);
  registerTagRule(app, { ...routeDeps, read: deps.readSingle });
  registerIp(app, routeDeps);
  registerLegacy(app, routeDeps);
  registerAnalyze(app, routeDeps);
  registerTimeline(app, routeDeps);
  registerAddressObservations(app, routeDeps);
  registerNetwork(app, routeDeps);
  const searchDeps = { ...routeDeps, answerSearch: searchAnswers(read, deps.facetIndex) };
  registerSearch(app, searchDeps);
  registerSearchPages(app, searchDeps);
  registerSearchStats(app, searchDeps);
  registerSearchValues(app, searchDeps);
  registerTimeseries(app, routeDeps);
  registerLegacySearch(app, searchDeps);
  registerValidateQuery(app, routeDeps);
  const { knownHostsOf } = deps.feeds.feeds;
  registerCallbacks(app, { ...searchDeps, knownHostsOf });
  registerHostedCallbacks(app, { ...routeDeps, knownHostsOf });
  registerTagActivity(app, { ...routeDeps, index, maxListed, maxInProcess });
  registerTagSummary(app, routeDeps);
  registerCves(app, routeDeps);
  registerStats(app, { ...routeDeps, index });
  registerToday(app, { ...routeDeps, ...deps.feeds, publicUrl });
  const limitToken = limitTokens(now);
  registerFeeds(app, {
    ...routeDeps,
    ...deps.feeds,
    accessCache: deps.accessCache,
    tokenLimit(tokenId, use) {
      limitToken(tokenId, use);
      deps.feeds.feeds.tokenUses.note(tokenId);
    },
    publicUrl,
  });
  registerWatches(app, { ...routeDeps, watches: deps.watches, accessCache: deps.accessCache, publicUrl });
  registerSensors(app, routeDeps);
  registerPlans(app, { authenticate, limit: deps.limit, plans });
  registerPages(app, { publicUrl, explorer: deps.explorer });
}
