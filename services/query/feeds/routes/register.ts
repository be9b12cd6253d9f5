import type { FastifyInstance } from "fastify";
import { openFeedBodies } from "../bodies/bodies.ts";
import { createLanes } from "../concurrency.ts";
import { registerCrowdSec } from "../crowdsec/route.ts";
import { getFeedGuarded, registerFeedGuarded } from "../guard-routes/feed-guarded.ts";
import { getGuardedAttackers, registerGuardedAttackers } from "../guard-routes/guarded-attackers.ts";
import { GUARD_OPERATIONS, registerGuard } from "../guard-routes/route.ts";
import { readItems } from "../lists/items.ts";
import { registerMisp } from "../misp/route.ts";
import { createObjectSync } from "../objects/sync-objects.ts";
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
] as const;

/** Pieces of feeds' objects that are stored at the same time. */
const OBJECT_LANES = { all: 3, owner: 2, slow: 3 } as const;
/** The first objects of a feed of a million addresses take longer than a request may. */
const MAX_SYNC_MS = 15 * 60_000;

export function registerFeeds(app: FastifyInstance, options: Omit<FeedRouteDeps, "syncObjects" | "bodies">): void {
  const { client, feeds, now } = options;
  const stopping = new AbortController();
  app.addHook("onClose", async () => stopping.abort());
  const syncObjects = createObjectSync({
    client,
    lists: feeds.lists,
    readItems: (addresses, asOf) =>
      readItems(addresses, asOf, options, AbortSignal.any([stopping.signal, AbortSignal.timeout(MAX_SYNC_MS)])),
    runInLane: createLanes(OBJECT_LANES),
    now,
    stopping: stopping.signal,
  });
  const deps = { ...options, syncObjects, bodies: openFeedBodies(app) };
  registerDefinitions(app, deps);
  registerIprepCategories(app, deps);
  registerFeedList(app, deps);
  registerFeedAddresses(app, deps);
  registerFeedHistory(app, deps);
  registerFeedGuarded(app, deps);
  registerFeedTokens(app, deps);
  registerGuard(app, deps);
  registerGuardedAttackers(app, deps);
  registerCrowdSec(app, deps);
  registerTaxii(app, deps);
  registerMisp(app, deps);
}
