import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { FeedCache } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import type { LookupDeps } from "../../address/store-lookup.ts";
import type { Authenticate } from "../../auth.ts";
import type { FeedBodies } from "../bodies/bodies.ts";
import type { Feeds } from "../service/feeds.ts";
import type { ReaderDeps } from "./readers.ts";

/** What the routes of feeds need. */
export type FeedRouteDeps = LookupDeps &
  ReaderDeps & {
    readonly catalogue: TagCatalogue;
    readonly feeds: Feeds;
    readonly accessCache: Pick<AccessCache, "tokensOf">;
    readonly cache: FeedCache;
    /** The client of a user who may write the tables of feeds. */
    readonly client: ClickHouseClient;
    readonly bodies: FeedBodies;
    readonly authenticate: Authenticate;
    /** The base of links in responses, without a trailing slash. */
    readonly publicUrl: string;
  };
