import { readLists } from "@noisefloor/clickhouse/feeds/list-history.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { count, timestamp } from "../../wire.ts";
import { formatCursor } from "../cursor.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { readableFeed, readerOf } from "../requests/readers.ts";
import { EXAMPLE_FEED, FEED_NAME, FEED_NOT_FOUND, FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";

const MAX_REVISIONS = 1_000;

/** `GET /v3/feeds/{name}/history`. */
export const getFeedHistory = defineOperation({
  ...FEEDS,
  id: "getFeedHistory",
  method: "GET",
  path: "/v3/feeds/{name}/history",
  summary: "How a feed has grown: each list that it had, and how many addresses came and left",
  description: `The last ${MAX_REVISIONS} lists of the last days. Refreshes that changed nothing are left out. Also with a token of the feed.`,
  pathParameters: { name: FEED_NAME },
  queryParameters: [],
  success: {
    status: 200,
    description: "The lists, the newest first.",
    schema: z
      .strictObject({
        revisions: z.array(
          z
            .strictObject({
              cursor: z.string().describe("Names the list."),
              refreshed_at: timestamp.describe("When the list became what it was."),
              count: count.describe("How many hosts it had."),
              added: count.describe("How many the list before it did not have."),
              removed: count.describe("How many of the list before it were gone."),
            })
            .meta({ id: "FeedRevision" }),
        ),
      })
      .meta({ id: "FeedHistory" }),
    example: {
      revisions: [
        { cursor: EXAMPLE_FEED.cursor, refreshed_at: EXAMPLE_FEED.refreshed_at, count: 1_234, added: 12, removed: 3 },
      ],
    },
  },
  errorResponses: { 401: UNAUTHORIZED, 404: FEED_NOT_FOUND },
});

export function registerFeedHistory(app: FastifyInstance, deps: FeedRouteDeps): void {
  app.implement(getFeedHistory, async (request) => {
    const feed = readableFeed(deps.feeds, request.params.name, readerOf(request, deps));
    const revisions = await readLists(deps.client, feed.id, MAX_REVISIONS);
    return {
      revisions: revisions.map(({ revision, listedAt, count, came, left }) => ({
        cursor: formatCursor(revision),
        refreshed_at: formatTimestamp(listedAt),
        count,
        added: came,
        removed: left,
      })),
    };
  });
}
