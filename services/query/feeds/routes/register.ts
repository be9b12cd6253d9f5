import type { FastifyInstance } from "fastify";
import { GUARD_OPERATIONS, registerGuard } from "../guard/route.ts";
import { DEFINITION_OPERATIONS, registerDefinitions } from "./definitions.ts";
import type { FeedRouteDeps } from "./deps.ts";
import { getFeedList, registerFeedList } from "./list.ts";
import { registerFeedTokens, TOKEN_OPERATIONS } from "./tokens.ts";

export const FEED_OPERATIONS = [
  ...DEFINITION_OPERATIONS,
  getFeedList,
  ...TOKEN_OPERATIONS,
  ...GUARD_OPERATIONS,
] as const;

export function registerFeeds(app: FastifyInstance, deps: FeedRouteDeps): void {
  registerDefinitions(app, deps);
  registerFeedList(app, deps);
  registerFeedTokens(app, deps);
  registerGuard(app, deps);
}
