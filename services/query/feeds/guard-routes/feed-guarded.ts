import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { defineOperation, errorResponse } from "@noisefloor/http/operations/operation.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { admitQuery } from "../../search/admit-query.ts";
import { compile, prepareSearch, searchCost } from "../../search/search.ts";
import { count, ip } from "../../wire.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { DISABLED } from "../requests/prepared-state.ts";
import { managerOf, readableFeed } from "../requests/readers.ts";
import { FEED_NAME, FEED_NOT_FOUND, FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";
import { reasonMembers, toWireReason } from "./wire-reason.ts";

const MAX_ADDRESSES = 10_000;

/** `GET /v3/feeds/{name}/guarded`. */
export const getFeedGuarded = defineOperation({
  ...FEEDS,
  id: "getFeedGuarded",
  method: "GET",
  path: "/v3/feeds/{name}/guarded",
  summary: "Which addresses of a feed the guard holds back, and why",
  description:
    "Those that the feed would list now, searched for again: its `guarded` counts those of the last refresh. Empty for a feed without a guard.",
  pathParameters: { name: FEED_NAME },
  queryParameters: [],
  success: {
    status: 200,
    description: "The addresses in numeric order.",
    schema: z
      .strictObject({
        count: count.describe("How many are held back."),
        addresses: z
          .array(z.strictObject({ ip, ...reasonMembers }).meta({ id: "HeldBackAddress" }))
          .describe(`The first ${MAX_ADDRESSES} of them.`),
      })
      .meta({ id: "HeldBackAddresses" }),
    example: {
      count: 1,
      addresses: [
        {
          ip: "192.175.48.6",
          reason: "network",
          name: "",
          network: "192.175.48.0/24",
          note: "a partner",
          attacked: false,
        },
      ],
    },
  },
  errorResponses: {
    401: UNAUTHORIZED,
    404: FEED_NOT_FOUND,
    410: errorResponse("The feed is disabled.", DISABLED),
  },
});

export function registerFeedGuarded(app: FastifyInstance, deps: FeedRouteDeps): void {
  app.implement(getFeedGuarded, async (request, _reply, { signal }) => {
    const caller = managerOf(request, deps.authenticate);
    const { workspaceId } = caller;
    const feed = readableFeed(deps.feeds, request.params.name, { workspaceId, feedId: undefined });
    if (!feed.isEnabled) throw new HttpError(410, DISABLED);
    const days = feed.days === 0 ? undefined : feed.days;
    const { query } = feed;
    const search = await admitQuery(request, query, signal, (asking) =>
      prepareSearch({ caller, query, days, scopes: [GLOBAL_SCOPE] }, deps, asking),
    );
    const guarded = await app.admission.run(request, searchCost(compile(search)), signal, () =>
      deps.feeds.readGuarded(feed, signal),
    );
    const addresses = guarded
      .slice(0, MAX_ADDRESSES)
      .map(({ address, reason, hasAttacked }) => ({ ip: numberToIpv4(address), ...toWireReason(reason, hasAttacked) }));
    return { count: guarded.length, addresses };
  });
}
