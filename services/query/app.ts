import type { AccessDirectory } from "@noisefloor/clickhouse/access-directory.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";
import type { Plans } from "@noisefloor/domain/plan.ts";
import { SHARED_GLOBAL } from "@noisefloor/domain/scope.ts";
import type { FastifyInstance } from "fastify";
import { addressLookup } from "./address-lookup.ts";
import { authenticator } from "./auth.ts";
import type { LookupLimit } from "./lookup-limit.ts";
import { COMMUNITY_PATH, registerCommunity } from "./routes/community.ts";
import { IP_PATH, IPS_PATH, registerIp } from "./routes/ip.ts";
import { LEGACY_PATHS, registerLegacy } from "./routes/legacy.ts";
import { registerTagActivity, TAG_ACTIVITY_PATH } from "./routes/tag-activity.ts";
import { registerTags, TAGS_PATH } from "./routes/tags.ts";
import { registerTimeline, TIMELINE_PATH } from "./routes/timeline.ts";

export type QueryDeps = {
  readonly client: ClickHouseClient;
  readonly catalogue: TagCatalogue;
  readonly directory: AccessDirectory;
  readonly plans: Plans;
  readonly limit: LookupLimit;
  /** The page that callers who have hit their limit are pointed to. */
  readonly plansUrl: string;
  readonly retentionDays: number;
  /** What links in answers start with, without a slash at the end. */
  readonly publicUrl: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Every path of the query interface. */
export const QUERY_PATHS = [
  COMMUNITY_PATH,
  TAGS_PATH,
  TAG_ACTIVITY_PATH,
  IP_PATH,
  IPS_PATH,
  TIMELINE_PATH,
  ...Object.values(LEGACY_PATHS),
] as const;

/** Registers the query interface. */
export function registerQuery(app: FastifyInstance, deps: QueryDeps): void {
  const { client, retentionDays, now } = deps;
  const lookUp = addressLookup([SHARED_GLOBAL], { client, retentionDays, now });
  const authenticate = authenticator(deps.directory, deps.plans);
  registerCommunity(app, {
    lookUp,
    publicUrl: deps.publicUrl,
    plansUrl: deps.plansUrl,
    limit: deps.limit,
    authenticate,
  });
  registerTags(app, { catalogue: deps.catalogue, authenticate });
  registerIp(app, { client, retentionDays, now, catalogue: deps.catalogue, authenticate });
  registerLegacy(app, { client, retentionDays, now, catalogue: deps.catalogue, authenticate, lookUp });
  registerTimeline(app, { client, retentionDays, now, authenticate });
  registerTagActivity(app, { client, retentionDays, now, catalogue: deps.catalogue, authenticate });
}
