import { setTimeout as sleep } from "node:timers/promises";
import { writeFeedTokens } from "@noisefloor/clickhouse/access/credentials.ts";
import { feedDefinitions } from "@noisefloor/clickhouse/feeds/definitions.ts";
import { readRefreshHeads } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import {
  DEFAULT_FEED_ADDRESSES,
  DEFAULT_TTL_HOURS,
  FEED_SUBJECTS,
  feedIdOf,
  isFeedName,
  MAX_FEED_ADDRESSES,
  MAX_TTL_HOURS,
} from "@noisefloor/domain/feeds/feed-definition.ts";
import { READY_MADE_NAMES } from "@noisefloor/domain/feeds/ready-made-names.ts";
import { MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";
import { MAX_DAYS } from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse, NO_CONTENT, NOTHING } from "@noisefloor/http/operations/operation.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { ADDRESSES_ROUTE, rejectBody } from "../../request-body.ts";
import { adjustedQueryOf } from "../../search/adjusted-query.ts";
import { admitQuery } from "../../search/admit-query.ts";
import { wrongQuery } from "../../search/operations.ts";
import { prepareSearch } from "../../search/search.ts";
import { warningsOf } from "../../search/warnings.ts";
import { storedText, texts } from "../../wire.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { DELETED, managerOf, readableFeed, readerOf } from "../requests/readers.ts";
import {
  EXAMPLE_FEED,
  FEED_NAME,
  FEED_NOT_FOUND,
  FEEDS,
  feedSchema,
  toWireFeed,
  UNAUTHORIZED,
} from "../requests/wire-feed.ts";
import { isReadyMadeName } from "../service/ready-made.ts";

const MAX_FEEDS = 100;
const TOO_MANY = `A workspace has at most ${MAX_FEEDS} feeds`;
const READY_MADE = "The feed is ready-made: it cannot be changed or deleted";
const NO_FEED = 'The request body must be {"query": "..."}';
const BAD_NAME =
  "Invalid parameter: name takes 1 to 63 lower-case letters, digits and -, no UUID, not events or iprep-categories, and nothing that begins with tag-";

// Generators take a member with a default for one that must be sent.
const definitionSchema = z
  .object({
    of: z.enum(FEED_SUBJECTS).optional().describe("visitors by default; `callbacks`: the hosts that they named."),
    query: z.string().min(1).max(MAX_QUERY_LENGTH),
    days: z.int().min(0).max(MAX_DAYS).optional().describe("0 by default."),
    description: storedText.max(1_000).optional(),
    limit: z.int().min(1).max(MAX_FEED_ADDRESSES).optional().describe(`${DEFAULT_FEED_ADDRESSES} by default.`),
    ttl_hours: z
      .int()
      .min(1)
      .max(MAX_TTL_HOURS)
      .optional()
      .describe(`${DEFAULT_TTL_HOURS.visitors} by default, ${DEFAULT_TTL_HOURS.callbacks} for callbacks.`),
    guard: z.boolean().optional().describe("true by default."),
    keep_fallen: z.boolean().optional().describe("false by default. Feeds of callbacks keep nothing."),
    enabled: z.boolean().optional().describe("true by default."),
  })
  .meta({ id: "FeedDefinition" });

const savedFeedSchema = feedSchema
  .extend({
    warnings: texts
      .optional()
      .describe(
        "As of `POST /v3/gnql/validate`: what can match nothing, or hardly what was meant; left out without any.",
      ),
    adjusted_query: z.string().optional().describe("What is searched for, where it is not what was sent."),
  })
  .meta({ id: "SavedFeed" });
const EXAMPLE_SAVED = { ...EXAMPLE_FEED, warnings: ['no tag is called "Mirrai": did you mean "Mirai"?'] };

const feedsSchema = z.strictObject({ feeds: z.array(feedSchema) }).meta({ id: "Feeds" });

/** `GET /v3/feeds`. */
export const listFeeds = defineOperation({
  ...FEEDS,
  id: "listFeeds",
  method: "GET",
  path: "/v3/feeds",
  summary: "The feeds of a workspace",
  description:
    "In order of their names, those that it made first; then the ready-made ones, without one for each tag, `tag-{slug}`.",
  pathParameters: {},
  queryParameters: [],
  success: { status: 200, description: "The feeds.", schema: feedsSchema, example: { feeds: [EXAMPLE_FEED] } },
  errorResponses: { 401: UNAUTHORIZED },
});

/** `GET /v3/feeds/{name}`. */
export const getFeed = defineOperation({
  ...FEEDS,
  id: "getFeed",
  method: "GET",
  path: "/v3/feeds/{name}",
  summary: "A feed: what it searches for, how much it lists, and what its last refresh took",
  description: "Also with a token of the feed.",
  pathParameters: { name: FEED_NAME },
  queryParameters: [],
  success: { status: 200, description: "The feed.", schema: feedSchema, example: EXAMPLE_FEED },
  errorResponses: {
    401: UNAUTHORIZED,
    404: FEED_NOT_FOUND,
    410: errorResponse("The token is of a feed that was deleted.", DELETED),
  },
});

/** `PUT /v3/feeds/{name}`. */
export const putFeed = defineOperation({
  ...FEEDS,
  id: "putFeed",
  method: "PUT",
  path: "/v3/feeds/{name}",
  summary: "Creates a feed, or replaces its definition",
  description:
    "Answers when the feed was refreshed, with how many addresses it lists. A feed finds in the global dataset what its workspace may find.",
  pathParameters: { name: FEED_NAME },
  queryParameters: [],
  body: {
    description: "What is left out gets its default.",
    schema: definitionSchema,
    example: { query: "NOT classification:benign last_seen:1d" },
  },
  success: { status: 200, description: "The feed was replaced.", schema: savedFeedSchema, example: EXAMPLE_SAVED },
  errorResponses: {
    201: { description: "The feed was created.", schema: savedFeedSchema, example: EXAMPLE_SAVED },
    400: wrongQuery,
    401: UNAUTHORIZED,
    409: errorResponse("There are as many feeds as there may be, or the feed is ready-made.", TOO_MANY),
  },
});

/** `DELETE /v3/feeds/{name}`. */
export const deleteFeed = defineOperation({
  ...FEEDS,
  id: "deleteFeed",
  method: "DELETE",
  path: "/v3/feeds/{name}",
  summary: "Deletes a feed and revokes its tokens, which are answered 410 for 30 days",
  pathParameters: { name: { ...FEED_NAME, example: "ftp-bruteforce" } },
  queryParameters: [],
  success: { status: 204, description: "The feed is deleted.", ...NOTHING },
  errorResponses: {
    401: UNAUTHORIZED,
    404: FEED_NOT_FOUND,
    409: errorResponse("The feed is ready-made.", READY_MADE),
  },
});

export const DEFINITION_OPERATIONS = [listFeeds, getFeed, putFeed, deleteFeed] as const;

export function registerDefinitions(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { feeds, cache, client, now } = deps;
  const headsOf = async (some: readonly Feed[]) => {
    if (some.length === 0) return new Map();
    const heads = await readRefreshHeads(
      client,
      0,
      some.map(({ id }) => id),
    );
    return new Map(heads.map((head) => [head.feedId, head]));
  };

  app.implement(listFeeds, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    const all = feeds.ofWorkspace(workspaceId);
    const heads = await headsOf(all);
    return { feeds: all.map((feed) => toWireFeed(feed, heads.get(feed.id))) };
  });

  app.implement(getFeed, async (request, _reply, { signal }) => {
    const feed = readableFeed(feeds, request.params.name, readerOf(request, deps));
    const state = feed.isEnabled ? await feeds.stateOf(feed, signal) : await feeds.lists.current(feed.id);
    return toWireFeed(feed, state?.head);
  });

  app.implement(
    putFeed,
    async (request, reply, { signal }) => {
      const caller = managerOf(request, deps.authenticate);
      const { workspaceId } = caller;
      const { name } = request.params;
      if (READY_MADE_NAMES.some((one) => one === name)) throw new HttpError(409, READY_MADE);
      if (!isFeedName(name) || isReadyMadeName(name)) throw new HttpError(400, BAD_NAME);
      const body = definitionSchema.safeParse(request.body);
      if (!body.success) throw wrongDefinition(body.error);
      const { of = "visitors", query, days = 0, description = "", limit = DEFAULT_FEED_ADDRESSES } = body.data;
      const { ttl_hours = DEFAULT_TTL_HOURS[of], guard = true, keep_fallen = false, enabled = true } = body.data;
      if (of === "callbacks" && keep_fallen) throw new HttpError(400, KEEPS_NONE);
      const parameters = { caller, query, days: days === 0 ? undefined : days, scopes: [GLOBAL_SCOPE] };
      const search = await admitQuery(request, query, signal, (asking) => prepareSearch(parameters, deps, asking));
      // Another process may have changed it a moment ago: so before every decision about a change.
      await cache.refresh();
      const replaced = feeds.find(workspaceId, name);
      const made = feeds.ofWorkspace(workspaceId).filter(({ isReadyMade }) => !isReadyMade);
      if (replaced === undefined && made.length >= MAX_FEEDS) throw new HttpError(409, TOO_MANY);
      const definition = {
        id: feedIdOf(workspaceId, name),
        workspaceId,
        name,
        of,
        query,
        days,
        description,
        limit,
        ttlHours: ttl_hours,
        isGuarded: guard,
        keepsFallen: keep_fallen,
        isEnabled: enabled,
        createdAt: replaced?.createdAt ?? now(),
      };
      // Newer than the last change of the guard and the known hosts, by whichever clock: else a list of the former
      // definition might count.
      const changedAt = Math.max(cache.guardOf(workspaceId).changedAt, cache.knownHostsOf(workspaceId).changedAt);
      await feedDefinitions.write(client, [definition], Math.max(now(), changedAt + 1));
      await cache.refresh();
      const feed = feeds.find(workspaceId, name);
      if (feed === undefined) throw new HttpError(409, "The feed was deleted meanwhile");
      // The definition is stored, whether or not its first refresh fails, or takes long: looks refresh it then.
      const state = enabled
        ? await Promise.race([feeds.refresh(feed).catch(() => undefined), waited(app.deadlineMs / 2)])
        : await feeds.lists.current(feed.id);
      reply.code(replaced === undefined ? 201 : 200);
      const [warnings, adjusted_query] = [await warningsOf(search), adjustedQueryOf(search)];
      return {
        ...toWireFeed(feed, state?.head),
        ...(warnings.length > 0 && { warnings }),
        ...(adjusted_query !== "" && { adjusted_query }),
      };
    },
    { ...ADDRESSES_ROUTE, errorHandler: rejectBody(() => new HttpError(400, NO_FEED)) },
  );

  app.implement(deleteFeed, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    await cache.refresh();
    const feed = feeds.find(workspaceId, request.params.name);
    if (feed === undefined) throw new HttpError(404, "Feed not found");
    if (feed.isReadyMade) throw new HttpError(409, READY_MADE);
    const revokeTokens = () => {
      const revoked = deps.accessCache.tokensOf(feed.id).map((token) => ({ ...token, isRevoked: true }));
      return writeFeedTokens(client, revoked, now());
    };
    await revokeTokens();
    await feedDefinitions.delete(client, [feed], now());
    await cache.refresh();
    // And those that were made meanwhile: they must not read a later feed of this name.
    await revokeTokens();
    await cache.refresh();
    return NO_CONTENT;
  });
}

const waited = (ms: number): Promise<undefined> => sleep(ms, undefined, { ref: false });

const KEEPS_NONE = "The request body: keep_fallen takes false for a feed of callbacks";

const TAKES: Readonly<Record<string, string>> = {
  of: FEED_SUBJECTS.join(" or "),
  query: `a query of 1 to ${MAX_QUERY_LENGTH} characters`,
  days: `a whole number from 0 to ${MAX_DAYS}`,
  description: "a Unicode text of at most 1000 characters",
  limit: `a whole number from 1 to ${MAX_FEED_ADDRESSES}`,
  ttl_hours: `a whole number from 1 to ${MAX_TTL_HOURS}`,
  guard: "true or false",
  keep_fallen: "true or false",
  enabled: "true or false",
};

function wrongDefinition({ issues: [issue] }: z.ZodError): HttpError {
  const member = String(issue?.path[0] ?? "");
  const takes = TAKES[member];
  return new HttpError(400, takes === undefined ? NO_FEED : `The request body: ${member} takes ${takes}`);
}
