import type { Credential } from "@noisefloor/clickhouse/access/credentials.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ADDRESSES_ROUTE } from "../../request-body.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { preparedState } from "../requests/prepared-state.ts";
import { readToken, type TokenUse } from "../requests/readers.ts";
import { decisionsOf, toAnswer } from "./answer.ts";
import { changesFor, type DecisionChanges, startedAll } from "./changes.ts";
import { turnAt } from "./decisions.ts";
import { type DecisionFilter, isEverything, narrow, readFilter } from "./filter.ts";
import { FILTERS, LIMIT, listDecisions, OFFSET, postUsageMetrics, STARTUP, streamDecisions } from "./operations.ts";
import { openStreamPositions } from "./positions.ts";

/** A feed as the bouncer with a token sees it. */
type BouncerFeed = { readonly token: Credential; readonly feed: Feed };

export function registerCrowdSec(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { feeds, client, now } = deps;
  const positions = openStreamPositions(client, (error) =>
    app.log.warn({ err: error }, "could not store what a bouncer was told; trying again with its next request"),
  );
  app.addHook("onClose", () => positions.drain());

  const feedOfBouncer = (request: FastifyRequest, use?: TokenUse): BouncerFeed => {
    const token = readToken(request, ["apiKey"], deps, use);
    const feed = token && feeds.ofToken(token.workspaceId, token.subject);
    if (token === undefined || feed === undefined) throw new HttpError(403, "access forbidden");
    return { token, feed };
  };

  app.implement(streamDecisions, async (request, reply, { signal }, { toJsonArray }) => {
    const { token, feed } = feedOfBouncer(request);
    const state = await preparedState(feed, reply, deps, signal);
    const filter = readFilter(knownParameters(request), feed.name);
    const isStartup = readParameter(request.query, STARTUP);
    const told = await positions.read(token.id);
    // The store keeps the position with the latest time, also after the clock was set back.
    const answeredAt = Math.max(now(), (told.last?.answeredAt ?? 0) + 1);
    const changes = isStartup
      ? startedAll(state.addresses)
      : await changesFor(told, {
          feed,
          addresses: state.addresses,
          revision: state.head.list,
          answeredAt,
          changesSince: (revision) => feeds.lists.changesSince(state, revision),
        });
    // A health check, or a question about some addresses, does not take what the bouncer has not been told.
    if (changes.hasChanged && request.method !== "HEAD" && isEverything(filter)) {
      const position = { revision: state.head.list, answeredAt };
      positions.offer(token.id, position.revision);
      // Not before the answer was sent whole: a bouncer that was cut off gets the same again.
      reply.raw.once("finish", () => {
        if (reply.raw.statusCode === 200) positions.confirm(token.id, position);
      });
    }
    const { started, ended } = toAnswer(narrowChanges(changes, filter), {
      feed,
      turn: turnAt(answeredAt, feed.ttlHours),
      userAgent: request.headers["user-agent"],
    });
    return { new: await toJsonArray(started), deleted: await toJsonArray(ended) };
  });

  app.implement(listDecisions, async (request, reply, { signal }, { toJsonArray }) => {
    const isLookup = readParameter(request.query, FILTERS.ip) !== undefined;
    const { feed } = feedOfBouncer(request, isLookup ? "lookup" : "list");
    const filter = readFilter(knownParameters(request), feed.name);
    const [limit, offset] = [readParameter(request.query, LIMIT), readParameter(request.query, OFFSET)];
    const { addresses } = await preparedState(feed, reply, deps, signal);
    const wanted = narrow(addresses, filter).subarray(offset, offset + limit);
    return wanted.length === 0 ? null : toJsonArray(decisionsOf([wanted], feed));
  });

  app.implement(
    postUsageMetrics,
    async (request) => {
      feedOfBouncer(request);
      return { message: "Metrics are not kept" };
    },
    ADDRESSES_ROUTE,
  );
}

/** @throws HttpError 400 with another one: it may narrow what the bouncer asks for, and the answer would ban too much. */
function knownParameters({ query, unknownParameters: [name] = [] }: FastifyRequest<{ Querystring: RawQuery }>) {
  if (name !== undefined) throw new HttpError(400, `Unknown parameter: ${name}`);
  return query;
}

const narrowChanges = ({ started, ended, prolonged, hasChanged }: DecisionChanges, filter: DecisionFilter) => ({
  started: narrow(started, filter),
  ended: narrow(ended, filter),
  prolonged: narrow(prolonged, filter),
  hasChanged,
});
