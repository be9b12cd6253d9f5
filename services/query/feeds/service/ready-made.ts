import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { DEFAULT_TTL_HOURS, feedIdOf, MAX_FEED_ADDRESSES } from "@noisefloor/domain/feeds/feed-definition.ts";
import { READY_MADE_NAMES, TAG_FEED_PREFIX } from "@noisefloor/domain/feeds/ready-made-names.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";

const MALICIOUS = "(classification:malicious OR classification:suspicious)";

type ReadyMade = Pick<Feed, "query" | "days" | "description"> & Partial<Pick<Feed, "of">>;

const BY_NAME: Readonly<Record<(typeof READY_MADE_NAMES)[number], ReadyMade>> = {
  recent: {
    query: `${MALICIOUS} last_seen:3d`,
    days: 0,
    description: "Malicious or suspicious addresses that were seen in the last 3 days",
  },
  persistent: {
    query: `${MALICIOUS} seen_on:10/14`,
    days: 0,
    description: "Malicious or suspicious addresses that were seen on 10 or more of the last 14 days",
  },
  callbacks: {
    of: "callbacks",
    query: "last_seen:3d",
    days: 3,
    description: "Hosts that visitors told a sensor to fetch from or to connect to in the last 3 days",
  },
};

export type ReadyMadeOptions = {
  readonly tags: { resolve(slug: string): Pick<Tag, "id" | "name" | "slug"> | undefined };
  /** Whether they list what could be forged, too. */
  readonly listsSpoofable: boolean;
};

/** The feed of a workspace that needs no definition; undefined when no such feed has this name. */
export function readyMadeFeed(
  workspaceId: string,
  name: string,
  { tags, listsSpoofable }: ReadyMadeOptions,
): Feed | undefined {
  const ownName = READY_MADE_NAMES.find((each) => each === name);
  const search = ownName === undefined ? tagFeed(name, tags) : BY_NAME[ownName];
  if (search === undefined) return undefined;
  const { of = "visitors" } = search;
  return {
    ...search,
    of,
    // What could be forged names no callback anyway.
    ...(listsSpoofable || of === "callbacks"
      ? {}
      : { query: `${search.query} spoofable:false`, queryWithSpoofable: search.query }),
    id: feedIdOf(workspaceId, name),
    workspaceId,
    name,
    limit: MAX_FEED_ADDRESSES,
    ttlHours: DEFAULT_TTL_HOURS[of],
    isGuarded: true,
    keepsFallen: false,
    isEnabled: true,
    createdAt: 0,
    updatedAt: 0,
    isReadyMade: true,
  };
}

/** Names that no definition may have. */
export const isReadyMadeName = (name: string): boolean =>
  READY_MADE_NAMES.some((one) => one === name) || name.startsWith(TAG_FEED_PREFIX);

function tagFeed(name: string, tags: ReadyMadeOptions["tags"]): ReadyMade | undefined {
  if (!name.startsWith(TAG_FEED_PREFIX)) return undefined;
  const slug = name.slice(TAG_FEED_PREFIX.length);
  const tag = tags.resolve(slug);
  if (tag === undefined || tag.slug !== slug) return undefined;
  return {
    query: `tags:"${tag.id}"`,
    days: 7,
    description: `Addresses that were seen with the tag ${tag.name} in the last 7 days`,
  };
}
