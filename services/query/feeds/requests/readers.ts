import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { FeedCache } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import type { FeedToken } from "@noisefloor/clickhouse/feeds/tokens.ts";
import { keyOf } from "@noisefloor/http/requests/key.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyRequest } from "fastify";
import type { Authenticate } from "../../auth.ts";
import type { Feed } from "../lists/search-feed.ts";
import type { Feeds } from "../service/feeds.ts";

/** Who reads a feed: a workspace by its key, or the holder of a token for one feed. */
export type FeedReader = {
  readonly workspaceId: string;
  /** The one feed that a token reads. */
  readonly feedId: string | undefined;
};

export type ReaderDeps = {
  readonly cache: Pick<FeedCache, "token" | "isOfDeletedFeed">;
  readonly accessCache: Pick<AccessCache, "callerOf" | "callerOfWorkspace">;
  readonly tokenLimit: TokenLimit;
};

/** Whether a token reads a whole feed, or looks up one address. */
export type TokenUse = "list" | "lookup";

/** @throws HttpError 429 when a token is used too often. */
export type TokenLimit = (tokenId: string, use: TokenUse) => void;

/**
 * The reader of a request, by key or token in the header `key`, as Bearer, as password of HTTP Basic with any user, or
 * for tokens alone as `?token=`.
 * @throws HttpError 400 for a repeated parameter, 401 without a valid one, 410 for a deleted feed's, 429 for a token that is used too often.
 */
export function readerOf(request: FastifyRequest, deps: ReaderDeps): FeedReader {
  const parameter = tokenParameter(request);
  const sent = keyOf(request.headers) || passwordOf(request.headers.authorization);
  const caller = sent === "" ? undefined : deps.accessCache.callerOf(sent);
  if (caller?.workspaceId !== undefined) {
    request.workspaceId = caller.workspaceId;
    return { workspaceId: caller.workspaceId, feedId: undefined };
  }
  const token = readToken(request, sent === "" ? parameter : sent, deps);
  if (token === undefined) throw new HttpError(401, "Unauthorized");
  return { workspaceId: token.workspaceId, feedId: token.feedId };
}

export const DELETED = "This feed was deleted";

/**
 * The token with a text, which the request then counts for.
 * @throws HttpError 410 for one of a deleted feed, 429 when it is used too often.
 */
export function readToken(
  request: FastifyRequest,
  text: string,
  { cache, accessCache, tokenLimit }: ReaderDeps,
  use: TokenUse = "list",
): FeedToken | undefined {
  const token = text === "" ? undefined : cache.token(text);
  if (token === undefined && text !== "" && cache.isOfDeletedFeed(text)) throw new HttpError(410, DELETED);
  // A token is worth nothing without the workspace that made it.
  if (token === undefined || accessCache.callerOfWorkspace(token.workspaceId) === undefined) return undefined;
  tokenLimit(token.id, use);
  request.workspaceId = token.workspaceId;
  return token;
}

/** The feed with a name, if the reader may read it. @throws HttpError 404 for an unknown one, 403 for one of others. */
export function readableFeed(feeds: Pick<Feeds, "find">, name: string, { workspaceId, feedId }: FeedReader): Feed {
  const feed = feeds.find(workspaceId, name);
  if (feedId !== undefined && feed?.id !== feedId) throw new HttpError(403, "This token reads another feed");
  if (feed === undefined) throw new HttpError(404, "Feed not found");
  return feed;
}

/** The workspace that manages feeds. @throws HttpError 401 without its key. */
export function managerOf(request: FastifyRequest, authenticate: Authenticate) {
  const { workspaceId, ...caller } = authenticate(request);
  if (workspaceId === undefined) throw new HttpError(401, "Unauthorized");
  return { ...caller, workspaceId };
}

/** The password of HTTP Basic; empty without one. */
export function passwordOf(authorization = ""): string {
  const encoded = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization)?.[1] ?? "";
  const decoded = Buffer.from(encoded, "base64").toString();
  return decoded.slice(decoded.indexOf(":") + 1);
}

function tokenParameter({ query }: FastifyRequest): string {
  if (typeof query !== "object" || query === null || !("token" in query)) return "";
  if (typeof query.token !== "string") throw new HttpError(400, "Invalid parameter: token was given more than once");
  return query.token;
}

/** More than any bouncer, firewall or threat platform asks for. Some bouncers look each visitor of a site up. */
const REQUESTS_PER_MINUTE = { list: 600, lookup: 60_000 } as const;

/** Counts the requests of each token in this process. @param now milliseconds since 1970 UTC. */
export function limitTokens(now: () => number): TokenLimit {
  let minute = 0;
  let counts = new Map<string, number>();
  return (tokenId, use) => {
    const current = Math.floor(now() / 60_000);
    if (current !== minute) {
      minute = current;
      counts = new Map();
    }
    const key = `${use} ${tokenId}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count > REQUESTS_PER_MINUTE[use]) {
      throw new HttpError(429, `This token was used more than ${REQUESTS_PER_MINUTE[use]} times in this minute`);
    }
  };
}
