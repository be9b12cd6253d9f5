import { randomUUID } from "node:crypto";
import { makeCredential, writeFeedTokens } from "@noisefloor/clickhouse/access/credentials.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse, NO_CONTENT, NOTHING } from "@noisefloor/http/operations/operation.ts";
import type { PathParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { ADDRESSES_ROUTE, rejectBody } from "../../request-body.ts";
import { none, storedText, timestamp } from "../../wire.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { managerOf } from "../requests/readers.ts";
import { FEED_NAME, FEED_NOT_FOUND, FEEDS, timeOf, UNAUTHORIZED } from "../requests/wire-feed.ts";

const MAX_TOKENS = 20;
const TOO_MANY = `A feed has at most ${MAX_TOKENS} tokens: revoke one that is no longer used`;
const TOKEN_NOT_FOUND = "Token not found";
const BAD_BODY = 'The request body must be {"label": "..."} with a label of at most 200 characters';

const labelSchema = z.object({ label: storedText.max(200) }).meta({ id: "FeedTokenLabel" });
const newTokenSchema = z.strictObject({ id: z.string(), label: z.string(), created_at: timestamp });
const tokenSchema = newTokenSchema
  .extend({
    last_used_at: timestamp
      .or(none)
      .describe("A few minutes late at most; empty when it was not used in the last 90 days."),
  })
  .meta({ id: "FeedToken" });
export const EXAMPLE_TOKEN = {
  id: "0b7a4f60-3f3f-4f6e-9d5f-5f4c1d1f8a10",
  label: "edge firewall",
  created_at: "2026-11-20T12:00:00Z",
};
const TOKEN_ID: PathParameter = {
  schema: z.string(),
  description: "The id of a token.",
  errorMessage: "Invalid parameter: id",
  example: EXAMPLE_TOKEN.id,
};

/** `POST /v3/feeds/{name}/tokens`. */
export const createFeedToken = defineOperation({
  ...FEEDS,
  id: "createFeedToken",
  method: "POST",
  path: "/v3/feeds/{name}/tokens",
  summary: "Makes a token that reads one feed and nothing else",
  description: "The token is shown in this answer and never again.",
  pathParameters: { name: FEED_NAME },
  queryParameters: [],
  body: { description: "What the token is for.", schema: labelSchema, example: { label: "edge firewall" } },
  success: {
    status: 201,
    description: "The token.",
    schema: newTokenSchema
      .extend({ token: z.string(), url: z.string().describe("The list as plain text, for a client without headers.") })
      .meta({ id: "NewFeedToken" }),
    example: {
      ...EXAMPLE_TOKEN,
      token: "nff_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      url: "https://noise.example.org/v3/feeds/ssh-bruteforce.txt?token=nff_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    },
  },
  errorResponses: {
    400: errorResponse("The body has no such label.", BAD_BODY),
    401: UNAUTHORIZED,
    404: FEED_NOT_FOUND,
    409: errorResponse("The feed has as many tokens as it may have.", TOO_MANY),
  },
});

/** `GET /v3/feeds/{name}/tokens`. */
export const listFeedTokens = defineOperation({
  ...FEEDS,
  id: "listFeedTokens",
  method: "GET",
  path: "/v3/feeds/{name}/tokens",
  summary: "The tokens of a feed and when each was used last, without their texts",
  pathParameters: { name: FEED_NAME },
  queryParameters: [],
  success: {
    status: 200,
    description: "The tokens, the oldest first.",
    schema: z.strictObject({ tokens: z.array(tokenSchema) }).meta({ id: "FeedTokens" }),
    example: { tokens: [{ ...EXAMPLE_TOKEN, last_used_at: "2026-11-21T09:30:00Z" }] },
  },
  errorResponses: { 401: UNAUTHORIZED, 404: FEED_NOT_FOUND },
});

/** `DELETE /v3/feeds/{name}/tokens/{id}`. */
export const deleteFeedToken = defineOperation({
  ...FEEDS,
  id: "deleteFeedToken",
  method: "DELETE",
  path: "/v3/feeds/{name}/tokens/{id}",
  summary: "Revokes a token within five seconds",
  pathParameters: { name: FEED_NAME, id: TOKEN_ID },
  queryParameters: [],
  success: { status: 204, description: "The token is revoked.", ...NOTHING },
  errorResponses: {
    401: UNAUTHORIZED,
    404: errorResponse("The workspace has no such feed, or the feed no such token.", TOKEN_NOT_FOUND),
  },
});

export const TOKEN_OPERATIONS = [createFeedToken, listFeedTokens, deleteFeedToken] as const;

export function registerFeedTokens(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { feeds, cache, accessCache, client, now, publicUrl } = deps;
  type NamedRequest = Parameters<typeof managerOf>[0] & { readonly params: { readonly name: string } };
  /** Also as another process has changed it a moment ago. */
  const managedFeed = async (request: NamedRequest) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    await cache.refresh();
    const feed = feeds.find(workspaceId, request.params.name);
    if (feed === undefined) throw new HttpError(404, "Feed not found");
    return feed;
  };

  app.implement(
    createFeedToken,
    async (request) => {
      const feed = await managedFeed(request);
      const body = labelSchema.safeParse(request.body);
      if (!body.success) throw new HttpError(400, BAD_BODY);
      if (accessCache.tokensOf(feed.id).length >= MAX_TOKENS) throw new HttpError(409, TOO_MANY);
      const { label } = body.data;
      const about = { id: randomUUID(), workspaceId: feed.workspaceId, subject: feed.id, label };
      const { secret: token, credential } = makeCredential("feed", about, now());
      await writeFeedTokens(client, [credential], now());
      await cache.refresh();
      return {
        id: credential.id,
        label,
        created_at: formatTimestamp(credential.createdAt),
        token,
        url: `${publicUrl}/v3/feeds/${feed.name}.txt?token=${token}`,
      };
    },
    { ...ADDRESSES_ROUTE, errorHandler: rejectBody(() => new HttpError(400, BAD_BODY)) },
  );

  app.implement(listFeedTokens, async (request) => {
    const tokens = accessCache.tokensOf((await managedFeed(request)).id);
    const uses = await feeds.tokenUses.read();
    return {
      tokens: tokens.map(({ id, label, createdAt }) => ({
        id,
        label,
        created_at: timeOf(createdAt),
        last_used_at: timeOf(uses.get(id) ?? 0),
      })),
    };
  });

  app.implement(deleteFeedToken, async (request) => {
    const feed = await managedFeed(request);
    const token = accessCache.tokensOf(feed.id).find(({ id }) => id === request.params.id);
    if (token === undefined) throw new HttpError(404, TOKEN_NOT_FOUND);
    await writeFeedTokens(client, [{ ...token, isRevoked: true }], now());
    await cache.refresh();
    return NO_CONTENT;
  });
}
