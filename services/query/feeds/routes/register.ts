import type { FastifyInstance } from "fastify";
import { openFeedBodies } from "../bodies/bodies.ts";
import { registerCrowdSec } from "../crowdsec/route.ts";
import { getFeedGuarded, registerFeedGuarded } from "../guard-routes/feed-guarded.ts";
import { getGuardedAttackers, registerGuardedAttackers } from "../guard-routes/guarded-attackers.ts";
import { KNOWN_HOST_OPERATIONS, registerKnownHosts } from "../guard-routes/known-hosts.ts";
import { GUARD_OPERATIONS, registerGuard } from "../guard-routes/route.ts";
import { registerMisp } from "../misp/route.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { registerTaxii } from "../taxii/route.ts";
import { DEFINITION_OPERATIONS, registerDefinitions } from "./definitions.ts";
import { getFeedAddresses, registerFeedAddresses } from "./first-addresses.ts";
import { getFeedHistory, registerFeedHistory } from "./history.ts";
import { getIprepCategories, registerIprepCategories } from "./iprep-categories.ts";
import { getFeedList, registerFeedList } from "./list.ts";
import { registerFeedTokens, TOKEN_OPERATIONS } from "./tokens.ts";

/** Those of OpenAPI. CrowdSec, TAXII and MISP have clients of their own, and keys where OpenAPI does not look. */
export const FEED_OPERATIONS = [
  ...DEFINITION_OPERATIONS,
  getIprepCategories,
  getFeedList,
  getFeedAddresses,
  getFeedHistory,
  getFeedGuarded,
  ...TOKEN_OPERATIONS,
  ...GUARD_OPERATIONS,
  getGuardedAttackers,
  ...KNOWN_HOST_OPERATIONS,
] as const;

export function registerFeeds(app: FastifyInstance, options: Omit<FeedRouteDeps, "bodies">): void {
  const deps = { ...options, bodies: openFeedBodies(app) };
  registerDefinitions(app, deps);
  registerIprepCategories(app, deps);
  registerFeedList(app, deps);
  registerFeedAddresses(app, deps);
  registerFeedHistory(app, deps);
  registerFeedGuarded(app, deps);
  registerFeedTokens(app, deps);
  registerGuard(app, deps);
  registerGuardedAttackers(app, deps);
  registerKnownHosts(app, deps);
  registerCrowdSec(app, deps);
  registerTaxii(app, deps);
  registerMisp(app, deps);
}
