import { isIPv6 } from "node:net";
import type { FeedToken } from "@noisefloor/clickhouse/feeds/tokens.ts";
import { ipv4ToNumber, isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { findRange } from "@noisefloor/domain/address/ranges.ts";
import { registerOperation } from "@noisefloor/http/operations/operation.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ADDRESSES_ROUTE } from "../../request-body.ts";
import type { Feed } from "../lists/search-feed.ts";
import type { FeedRouteDeps } from "../routes/deps.ts";
import { preparedState } from "../routes/prepared-state.ts";
import { readToken, type TokenUse } from "../routes/readers.ts";
import { feedOfToken } from "../token-feed.ts";
import { changesFor } from "./changes.ts";
import { type Decision, toDecision, wantsFeed } from "./decisions.ts";
import {
  IP,
  listDecisions,
  ORIGINS,
  postUsageMetrics,
  SCENARIOS_CONTAINING,
  SCENARIOS_NOT_CONTAINING,
  SCOPES,
  STARTUP,
  streamDecisions,
} from "./operations.ts";
import { openStreamPositions } from "./positions.ts";

/** A feed as the bouncer with a token sees it. */
type BouncerFeed = { readonly token: FeedToken; readonly feed: Feed };

export function registerCrowdSec(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { feeds, client, now } = deps;
  const positions = openStreamPositions(client, (error) =>
    app.log.warn({ err: error }, "could not store what a bouncer was told; trying again with its next request"),
  );
  app.addHook("onClose", () => positions.drain());

  const feedOfBouncer = (request: FastifyRequest, use?: TokenUse): BouncerFeed => {
    const sent = request.headers["x-api-key"];
    const token = typeof sent === "string" ? readToken(request, sent, deps, use) : undefined;
    const feed = token && feedOfToken(token, feeds, deps.catalogue);
    if (token === undefined || feed === undefined) throw new HttpError(403, "access forbidden");
    return { token, feed };
  };

  registerOperation(app, streamDecisions, async (request, reply, { signal }, { toJsonArray }) => {
    const { token, feed } = feedOfBouncer(request);
    const state = await preparedState(feed, "addresses", reply, deps, signal);
    const isStartup = readParameter(request.query, STARTUP);
    const told = await positions.read(token.id);
    // The store keeps the position with the latest time, also after the clock was set back.
    const answeredAt = Math.max(now(), (told.last?.answeredAt ?? 0) + 1);
    const { started, ended, hasChanged } = isStartup
      ? { started: [state.addresses], ended: [], hasChanged: true }
      : await changesFor(told, {
          feed,
          addresses: state.addresses,
          revision: state.head.revision,
          answeredAt,
          changesSince: (revision) => feeds.lists.changesSince(state, revision),
        });
    if (!wantsFeed(feed.name, filterOf(request.query))) return { new: [], deleted: [] };
    if (hasChanged) {
      const position = { revision: state.head.revision, answeredAt };
      positions.offer(token.id, position.revision);
      // Not before the answer was sent whole: a bouncer that was cut off gets the same again.
      reply.raw.once("finish", () => {
        if (reply.raw.statusCode === 200) positions.confirm(token.id, position);
      });
    }
    return { new: await toJsonArray(decisionsOf(started, feed)), deleted: await toJsonArray(decisionsOf(ended, feed)) };
  });

  registerOperation(app, listDecisions, async (request, reply, { signal }, { toJsonArray }) => {
    const ip = readParameter(request.query, IP);
    const { feed } = feedOfBouncer(request, ip === undefined ? "list" : "lookup");
    if (ip !== undefined && !isIpv4(ip) && !isIPv6(ip)) {
      throw new HttpError(400, "Invalid parameter: ip takes an address");
    }
    const { addresses } = await preparedState(feed, "addresses", reply, deps, signal);
    const asked = ip === undefined ? addresses : Uint32Array.from(isListed(addresses, ip) ? [ipv4ToNumber(ip)] : []);
    if (asked.length === 0 || !wantsFeed(feed.name, filterOf(request.query))) return null;
    return toJsonArray(decisionsOf([asked], feed));
  });

  registerOperation(
    app,
    postUsageMetrics,
    async (request) => {
      feedOfBouncer(request);
      return { message: "Metrics are not kept" };
    },
    ADDRESSES_ROUTE,
  );
}

const isListed = (addresses: Uint32Array, ip: string) =>
  isIpv4(ip) && findRange({ first: addresses, last: addresses }, ipv4ToNumber(ip)) !== undefined;

function filterOf(query: RawQuery) {
  return {
    scopes: readParameter(query, SCOPES),
    origins: readParameter(query, ORIGINS),
    scenariosContaining: readParameter(query, SCENARIOS_CONTAINING),
    scenariosNotContaining: readParameter(query, SCENARIOS_NOT_CONTAINING),
  };
}

function* decisionsOf(lists: readonly Uint32Array[], feed: Feed): Generator<Decision> {
  for (const addresses of lists) for (const address of addresses) yield toDecision(address, feed);
}
