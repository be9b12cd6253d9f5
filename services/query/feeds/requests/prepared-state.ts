import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyReply } from "fastify";
import type { FeedState } from "../lists/feed-state.ts";
import type { FeedRouteDeps } from "./deps.ts";

export const NOT_PREPARED = "The feed is not prepared yet: send the request again in a few seconds";
export const DISABLED = "This feed is disabled";
const RETRY_AFTER_SECONDS = 5;

/**
 * The list that a response is made of.
 * @throws HttpError 410 for a disabled feed, 503 without a list; errors of the store. Except for 410, the response gets
 * `Retry-After`.
 */
export async function preparedState(
  feed: Feed,
  reply: FastifyReply,
  { feeds }: Pick<FeedRouteDeps, "feeds">,
  signal: AbortSignal,
): Promise<FeedState> {
  if (!feed.isEnabled) throw new HttpError(410, DISABLED);
  reply.header("retry-after", RETRY_AFTER_SECONDS);
  const state = await feeds.stateOf(feed, signal);
  if (state === undefined) throw new HttpError(503, NOT_PREPARED);
  reply.removeHeader("retry-after");
  return state;
}
