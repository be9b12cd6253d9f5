import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { readParameter, wholeNumber } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { classification, count, ip, texts, timestamp } from "../../wire.ts";
import { toWireItem } from "../forms/item.ts";
import { readItems } from "../lists/items.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { DISABLED, NOT_PREPARED, preparedState } from "../requests/prepared-state.ts";
import { readableFeed, readerOf } from "../requests/readers.ts";
import { FEED_NAME, FEED_NOT_FOUND, FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";

const LIMIT = wholeNumber({ name: "limit", description: "How many, at most.", min: 1, max: 1_000, fallback: 25 });

/** `GET /v3/feeds/{name}/addresses`. */
export const getFeedAddresses = defineOperation({
  ...FEEDS,
  id: "getFeedAddresses",
  method: "GET",
  path: "/v3/feeds/{name}/addresses",
  summary: "The first addresses of a feed, with what is known of each",
  description: "For people who want to see what a feed lists: consumers read a form. Also with a token of the feed.",
  pathParameters: { name: FEED_NAME },
  queryParameters: [LIMIT],
  success: {
    status: 200,
    description: "The first addresses in numeric order.",
    schema: z
      .strictObject({
        count: count.describe("How many the feed lists."),
        addresses: z.array(
          z
            .strictObject({
              ip,
              first_seen: timestamp,
              last_seen: timestamp,
              classification,
              tags: texts.describe("Slugs."),
              asn: z.string().describe("Empty where unknown, as the next two."),
              organization: z.string(),
              country: z.string().describe("A code."),
              spoofable: z.boolean().describe("Whether it could be forged."),
            })
            .meta({ id: "FeedAddress" }),
        ),
        names: texts.describe("The first names, of a feed of callbacks."),
      })
      .meta({ id: "FeedAddresses" }),
    example: {
      count: 1_234,
      addresses: [
        {
          ip: "192.175.48.6",
          first_seen: "2026-11-18T08:00:00Z",
          last_seen: "2026-11-20T11:59:58Z",
          classification: "malicious",
          tags: ["ssh-bruteforcer"],
          asn: "AS4134",
          organization: "Example Networks",
          country: "VN",
          spoofable: false,
        },
      ],
      names: [],
    },
  },
  errorResponses: {
    401: UNAUTHORIZED,
    403: errorResponse("The token is of another feed.", "This token reads another feed"),
    404: FEED_NOT_FOUND,
    410: errorResponse("The feed is disabled.", DISABLED),
    503: errorResponse("There is no list yet, or the store cannot be reached.", NOT_PREPARED),
  },
});

export function registerFeedAddresses(app: FastifyInstance, deps: FeedRouteDeps): void {
  app.implement(getFeedAddresses, async (request, reply, { signal }) => {
    const feed = readableFeed(deps.feeds, request.params.name, readerOf(request, deps));
    const limit = readParameter(request.query, LIMIT);
    const { addresses, names, head } = await preparedState(feed, reply, deps, signal);
    const items = [];
    for await (const block of readItems(
      { of: feed.of, addresses: addresses.subarray(0, limit), names: [] },
      head.listedAt,
      deps,
      signal,
    ))
      items.push(...block);
    return {
      count: head.count,
      addresses: items.map((item) => ({ ...toWireItem(item), classification: item.classification })),
      names: names.slice(0, limit),
    };
  });
}
