import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyReply } from "fastify";
import type { Form } from "../form.ts";
import type { FeedState } from "../lists/lists.ts";
import type { Feed } from "../lists/search-feed.ts";
import type { FeedRouteDeps } from "./deps.ts";

export const NOT_PREPARED = "The feed is not prepared yet: send the request again in a few seconds";
export const DISABLED = "This feed is disabled";
const RETRY_AFTER_SECONDS = 5;

/**
 * The list that a response is made of.
 * @param reads what of it: for `objects`, each of its addresses has a stored one.
 * @throws HttpError 410 for a disabled feed, 503 without a list; errors of the store. Except for 410, the response gets
 * `Retry-After`.
 */
export async function preparedState(
  feed: Feed,
  reads: Form["reads"],
  reply: FastifyReply,
  { feeds, syncObjects }: Pick<FeedRouteDeps, "feeds" | "syncObjects">,
  signal: AbortSignal,
): Promise<FeedState> {
  if (!feed.isEnabled) throw new HttpError(410, DISABLED);
  reply.header("retry-after", RETRY_AFTER_SECONDS);
  const known = await feeds.stateOf(feed, signal);
  const state = known !== undefined && reads === "objects" ? await syncObjects(feed) : known;
  if (state === undefined) throw new HttpError(503, NOT_PREPARED);
  reply.removeHeader("retry-after");
  return state;
}
