import type { FastifyInstance } from "fastify";
import { CROWDSEC_OPERATIONS } from "../crowdsec/operations.ts";
import { registerCrowdSec } from "../crowdsec/route.ts";
import { GUARD_OPERATIONS, registerGuard } from "../guard/route.ts";
import { readItems } from "../lists/items.ts";
import { getMispFile, registerMisp } from "../misp/route.ts";
import { createObjectSync } from "../objects/sync-objects.ts";
import { TAXII_OPERATIONS } from "../taxii/operations.ts";
import { registerTaxii } from "../taxii/route.ts";
import { DEFINITION_OPERATIONS, registerDefinitions } from "./definitions.ts";
import type { FeedRouteDeps } from "./deps.ts";
import { getFeedList, registerFeedList } from "./list.ts";
import { registerFeedTokens, TOKEN_OPERATIONS } from "./tokens.ts";

export const FEED_OPERATIONS = [
  ...DEFINITION_OPERATIONS,
  getFeedList,
  ...TOKEN_OPERATIONS,
  ...GUARD_OPERATIONS,
  ...CROWDSEC_OPERATIONS,
  ...TAXII_OPERATIONS,
  getMispFile,
] as const;

export function registerFeeds(app: FastifyInstance, options: Omit<FeedRouteDeps, "syncObjects">): void {
  const { client, feeds, now } = options;
  const syncObjects = createObjectSync({
    client,
    lists: feeds.lists,
    readItems: (addresses, asOf) => readItems(addresses, asOf, options, AbortSignal.timeout(app.deadlineMs)),
    now,
  });
  const deps = { ...options, syncObjects };
  registerDefinitions(app, deps);
  registerFeedList(app, deps);
  registerFeedTokens(app, deps);
  registerGuard(app, deps);
  registerCrowdSec(app, deps);
  registerTaxii(app, deps);
  registerMisp(app, deps);
}
