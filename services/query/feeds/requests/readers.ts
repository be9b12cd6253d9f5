import type { Credential } from "@noisefloor/clickhouse/access/credentials.ts";
import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { type CredentialPlace, credentialOf } from "@noisefloor/http/requests/key.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyRequest } from "fastify";
import type { Authenticate } from "../../auth.ts";
import type { Feeds } from "../service/feeds.ts";

/** The reader of a feed: a workspace by its key, or the holder of a token for one feed. */
export type FeedReader = {
  readonly workspaceId: string;
  /** The one feed that a token reads. */
  readonly feedId: string | undefined;
};

export type ReaderDeps = {
  readonly accessCache: Pick<AccessCache, "callerOf" | "callerOfWorkspace" | "find" | "isOfDeletedFeed">;
  readonly tokenLimit: TokenLimit;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** Whether a token reads a whole feed, or looks up one address. */
export type TokenUse = "list" | "lookup";

/** @throws HttpError 429 when a token is used too often. */
export type TokenLimit = (tokenId: string, use: TokenUse) => void;

const IN_HEADERS: readonly CredentialPlace[] = ["key", "bearer", "basic"];

/**
 * The reader of a request, by key or token in the header `key`, as Bearer, as password of HTTP Basic with any user, or
 * for tokens alone as `?token=`.
 * @throws HttpError 400 for a repeated parameter, 401 without a valid one, 410 for a deleted feed's, 429 for a token that is used too often.
 */
export function readerOf(request: FastifyRequest, deps: ReaderDeps): FeedReader {
  rejectRepeatedToken(request);
  const caller = deps.accessCache.callerOf(credentialOf(request, IN_HEADERS));
  if (caller?.workspaceId !== undefined) {
    request.workspaceId = caller.workspaceId;
    return { workspaceId: caller.workspaceId, feedId: undefined };
  }
  const token = readToken(request, [...IN_HEADERS, "parameter"], deps);
  if (token === undefined) throw new HttpError(401, "Unauthorized");
  return { workspaceId: token.workspaceId, feedId: token.subject };
}

export const DELETED = "This feed was deleted";

/**
 * The token of a request in one of these places, which it then counts for.
 * @throws HttpError 410 for one of a deleted feed, 429 when it is used too often.
 */
export function readToken(
  request: FastifyRequest,
  places: readonly CredentialPlace[],
  { accessCache, tokenLimit, now }: ReaderDeps,
  use: TokenUse = "list",
): Credential | undefined {
  const text = credentialOf(request, places);
  const token = accessCache.find("feed", text);
  if (token === undefined && accessCache.isOfDeletedFeed(text, now())) throw new HttpError(410, DELETED);
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

function rejectRepeatedToken({ query }: FastifyRequest): void {
  if (typeof query !== "object" || query === null || !("token" in query) || typeof query.token === "string") return;
  throw new HttpError(400, "Invalid parameter: token was given more than once");
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
