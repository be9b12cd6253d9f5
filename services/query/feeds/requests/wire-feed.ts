import type { RefreshHead } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { FEED_SUBJECTS, type Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { errorResponse } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { count, none, timestamp, uuid } from "../../wire.ts";
import { formatCursor } from "../cursor.ts";

export const FEEDS = { group: "Feeds" } as const;

/** Any text: a name that no feed can have is one that no feed has. */
export const FEED_NAME: PathParameter = {
  schema: z.string(),
  description: "The name of a feed.",
  errorMessage: "Invalid parameter: name",
  example: "ssh-bruteforce",
};

export const UNAUTHORIZED = errorResponse("No valid key.", "Unauthorized");
export const FEED_NOT_FOUND = errorResponse("The workspace has no such feed.", "Feed not found");

export const feedSchema = z
  .strictObject({
    id: uuid,
    name: z.string(),
    of: z
      .enum(FEED_SUBJECTS)
      .describe("Whom it lists: the visitors that the query finds, or the hosts that these told a sensor to call."),
    query: z.string(),
    days: z.int().min(0).describe("As of a search; 0 stands for everything that is stored."),
    description: z.string(),
    limit: z.int().min(1).describe("Of more, those seen, or named, last are listed."),
    ttl_hours: z.int().min(1).describe("For how long a consumer that lets entries expire should keep one."),
    guard: z.boolean().describe("Whether guarded addresses are left out."),
    keep_fallen: z
      .boolean()
      .describe("Whether its addresses are kept for an hour when the list loses half of them, or all, at one refresh."),
    enabled: z.boolean(),
    ready_made: z.boolean().describe("Whether it exists without having been made."),
    count: count.describe("How many hosts are listed."),
    guarded: count.describe("How many matching addresses are not listed because they are guarded."),
    held_back: count.describe(
      "How many callbacks are not listed because they are known hosts of code and files; 0 for a feed of visitors.",
    ),
    left_out_spoofable: count.describe(
      "How many matching addresses a ready-made feed does not list because they could be forged; 0 for other feeds.",
    ),
    kept: count.describe("How many listed addresses are no longer found, and kept because the list fell."),
    fell_from: count.describe("As `Feed-Fell-From`; 0 where the list has no such header."),
    truncated: z.boolean().describe("Whether there are more than `limit`."),
    cursor: z.string().describe("Names the list as it is now; empty before the first refresh, as the next two."),
    refreshed_at: timestamp.or(none),
    refresh_ms: count.describe("How long the last refresh took, in milliseconds."),
    created_at: timestamp.or(none).describe("Empty for a ready-made feed, as the next."),
    updated_at: timestamp.or(none),
  })
  .meta({ id: "Feed" });

export const EXAMPLE_FEED = {
  id: "8a55b4b0-8b8e-5b52-9e5a-6f1c0d0c8a11",
  name: "ssh-bruteforce",
  of: "visitors",
  query: "tags:ssh-bruteforcer last_seen:1d",
  days: 0,
  description: "",
  limit: 100_000,
  ttl_hours: 24,
  guard: true,
  keep_fallen: false,
  enabled: true,
  ready_made: false,
  count: 1_234,
  guarded: 3,
  held_back: 0,
  left_out_spoofable: 0,
  kept: 0,
  fell_from: 0,
  truncated: false,
  cursor: "q83vASNFZ4mrze8BI0VniQ",
  refreshed_at: "2026-11-20T12:00:00Z",
  refresh_ms: 210,
  created_at: "2026-11-19T08:00:00Z",
  updated_at: "2026-11-19T08:00:00Z",
} as const;

/** @param ms since 1970 UTC; 0 for never. */
export const timeOf = (ms: number) => (ms === 0 ? "" : formatTimestamp(ms));

/** @param head of the last refresh; undefined before the first. */
export function toWireFeed(feed: Feed, head: RefreshHead | undefined): z.output<typeof feedSchema> {
  return {
    id: feed.id,
    name: feed.name,
    of: feed.of,
    query: feed.query,
    days: feed.days,
    description: feed.description,
    limit: feed.limit,
    ttl_hours: feed.ttlHours,
    guard: feed.isGuarded,
    keep_fallen: feed.keepsFallen,
    enabled: feed.isEnabled,
    ready_made: feed.isReadyMade,
    count: head?.count ?? 0,
    guarded: head?.guarded ?? 0,
    held_back: head?.heldBack ?? 0,
    left_out_spoofable: head?.leftOutSpoofable ?? 0,
    kept: head?.kept ?? 0,
    fell_from: head?.fellFrom ?? 0,
    truncated: head?.isTruncated ?? false,
    cursor: head === undefined ? "" : formatCursor(head.list),
    refreshed_at: timeOf(head?.refreshedAt ?? 0),
    refresh_ms: head?.tookMs ?? 0,
    created_at: timeOf(feed.createdAt),
    updated_at: timeOf(feed.updatedAt),
  };
}
