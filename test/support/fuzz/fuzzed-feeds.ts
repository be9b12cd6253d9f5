import { randomUUID } from "node:crypto";
import { makeCredential, writeFeedTokens } from "@noisefloor/clickhouse/access/credentials.ts";
import { knownHosts } from "@noisefloor/clickhouse/callbacks/known-hosts.ts";
import { feedDefinitions } from "@noisefloor/clickhouse/feeds/definitions.ts";
import { writeGuardNetwork } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import { feedIdOf } from "@noisefloor/domain/feeds/feed-definition.ts";
import fc from "fast-check";
import type { World } from "../worlds/world.ts";

/** Of each workspace; those that requests delete are many. */
const DELETABLE = 40;
const names = (prefix: string) => Array.from({ length: DELETABLE }, (_, index) => `${prefix}-${index}`);
const DELETED_FEEDS = names("deleted");
const TOKEN_IDS = names("token");
/** Their ids have the form of a UUID. */
const GUARD_IDS = Array.from({ length: DELETABLE }, () => randomUUID());
const KNOWN_HOSTS = names("known").map((name) => `${name}.example.org`);
const READ = "read";

/** Feeds, tokens and guarded networks that requests with a workspace's key find. The ids are the same for several. */
export async function makeFeeds(world: World, workspaceId: string, now: number): Promise<void> {
  const { client } = world;
  const definition = {
    query: "tags:worm",
    days: 0,
    description: "",
    limit: 10,
    ttlHours: 1,
    isGuarded: true,
    keepsFallen: false,
  };
  for (const name of [READ, ...DELETED_FEEDS]) {
    const id = feedIdOf(workspaceId, name);
    await feedDefinitions.write(
      client,
      [{ ...definition, id, workspaceId, name, isEnabled: true, createdAt: now }],
      now,
    );
  }
  const feedId = feedIdOf(workspaceId, READ);
  const tokens = TOKEN_IDS.map((id) => makeCredential("feed", { id, subject: feedId, workspaceId }, now).credential);
  await writeFeedTokens(client, tokens, now);
  for (const id of GUARD_IDS) {
    const guard = { id, workspaceId, network: "198.51.100.0/24", note: "", createdAt: now };
    await writeGuardNetwork(client, guard, now);
  }
  const known = KNOWN_HOSTS.map((host) => ({
    id: `${workspaceId}/${host}`,
    workspaceId,
    host,
    note: "",
    createdAt: now,
  }));
  await knownHosts.write(client, known, now);
}

const read = fc.constantFrom(READ, READ, "recent", "nothing");

/** What requests name. */
export const FEED_TEXTS = {
  "getFeed.name": read,
  "getFeedList.name": read,
  "getFeedList.form": fc.constantFrom("txt", "json", "csv", "ndjson", "nft", "ipset", "iprep", "none"),
  since: fc.constant(""),
  token: fc.constantFrom("", "unknown"),
  table: fc.constantFrom("noisefloor", "own"),
  set: fc.constantFrom("scanners", "own"),
  "getFeedAddresses.name": read,
  "getFeedHistory.name": read,
  "getFeedGuarded.name": read,
  "putFeed.name": fc.constantFrom("made", "made-too", READ),
  "deleteFeed.name": fc.constantFrom(...DELETED_FEEDS),
  "createFeedToken.name": fc.constantFrom("recent", "persistent", "nothing"),
  "listFeedTokens.name": read,
  "deleteFeedToken.name": fc.constant(READ),
  "deleteFeedToken.id": fc.constantFrom(...TOKEN_IDS),
  "deleteGuard.id": fc.constantFrom(...GUARD_IDS),
  "deleteKnownHost.host": fc.constantFrom(...KNOWN_HOSTS),
};

/** Likely members of bodies: hardly any text is a query or a network. */
export const FEED_MEMBERS = {
  query: fc.constantFrom("tags:worm", "NOT port:22 last_seen:1d", "ip:45.0.0.0/8"),
  host: fc.constantFrom("example.org", "Files.Example.org.", "45.9.148.7"),
  network: fc.constantFrom("45.7.0.0/16", "198.51.100.7", "203.0.113.0/24"),
};
