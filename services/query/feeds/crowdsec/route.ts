import { isIPv6 } from "node:net";
import { readStreamPosition, writeStreamPosition } from "@noisefloor/clickhouse/feeds/streams.ts";
import type { FeedToken } from "@noisefloor/clickhouse/feeds/tokens.ts";
import { ipv4ToNumber, isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { registerOperation } from "@noisefloor/http/operations/operation.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ADDRESSES_ROUTE } from "../../request-body.ts";
import type { FeedState } from "../lists/lists.ts";
import type { Feed } from "../lists/search-feed.ts";
import type { FeedRouteDeps } from "../routes/deps.ts";
import { preparedState } from "../routes/prepared-state.ts";
import { readToken } from "../routes/readers.ts";
import { feedOfToken } from "../token-feed.ts";
import { type Decision, dueAddresses, toDecision, turnAt, wantsFeed } from "./decisions.ts";
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

/** A feed as the bouncer with a token sees it. */
type BouncerFeed = { readonly token: FeedToken; readonly feed: Feed };

export function registerCrowdSec(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { feeds, client, now } = deps;

  const feedOfBouncer = (request: FastifyRequest): BouncerFeed => {
    const sent = request.headers["x-api-key"];
    const token = typeof sent === "string" ? readToken(request, sent, deps) : undefined;
    const feed = token && feedOfToken(token, feeds, deps.catalogue);
    if (token === undefined || feed === undefined) throw new HttpError(403, "access forbidden");
    return { token, feed };
  };
  /** What changed for a bouncer since its last answer: all of the list, when it had none or too long ago. */
  const changesFor = async ({ token, feed }: BouncerFeed, state: FeedState, answeredAt: number) => {
    const last = await readStreamPosition(client, token.id);
    const changes = last && (await feeds.lists.changesSince(state, last.revision));
    const to = turnAt(answeredAt, feed.ttlHours);
    if (last === undefined || changes === undefined) return { ...wholeList(state), hasChanged: true };
    const after = turnAt(last.answeredAt, feed.ttlHours);
    const added = new Set(changes.added);
    const prolonged = dueAddresses(state.addresses, { after, to }).filter((address) => !added.has(address));
    return {
      started: [changes.added, prolonged],
      ended: [changes.removed, prolonged],
      hasChanged: last.revision !== state.head.revision || after !== to,
    };
  };

  registerOperation(app, streamDecisions, async (request, reply, { signal }, toJsonArray) => {
    const bouncer = feedOfBouncer(request);
    const { token, feed } = bouncer;
    const state = await preparedState(feed, "addresses", reply, deps, signal);
    const answeredAt = now();
    const isStartup = readParameter(request.query, STARTUP);
    const { started, ended, hasChanged } = isStartup
      ? { ...wholeList(state), hasChanged: true }
      : await changesFor(bouncer, state, answeredAt);
    if (!wantsFeed(feed.name, filterOf(request.query))) return { new: [], deleted: [] };
    if (hasChanged) {
      const position = { revision: state.head.revision, answeredAt };
      // Not before the answer was sent whole: a bouncer that was cut off gets the same again.
      reply.raw.once("finish", () => {
        writeStreamPosition(client, token.id, position).catch((error: unknown) => {
          request.log.warn(
            { err: error, feed: feed.name },
            "could not store what a bouncer was told; it is told again",
          );
        });
      });
    }
    return { new: await toJsonArray(decisionsOf(started, feed)), deleted: await toJsonArray(decisionsOf(ended, feed)) };
  });

  registerOperation(app, listDecisions, async (request, reply, { signal }, toJsonArray) => {
    const { feed } = feedOfBouncer(request);
    const ip = readParameter(request.query, IP);
    if (ip !== undefined && !isIpv4(ip) && !isIPv6(ip)) {
      throw new HttpError(400, "Invalid parameter: ip takes an address");
    }
    const { addresses } = await preparedState(feed, "addresses", reply, deps, signal);
    const asked =
      ip === undefined ? addresses : addresses.filter((address) => isIpv4(ip) && address === ipv4ToNumber(ip));
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

type Told = { readonly started: readonly Uint32Array[]; readonly ended: readonly Uint32Array[] };

const wholeList = ({ addresses }: FeedState): Told => ({ started: [addresses], ended: [] });

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
