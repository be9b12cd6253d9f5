import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { feedIdOf } from "@noisefloor/domain/feeds/feed-definition.ts";
import { readyMadeNames } from "@noisefloor/domain/feeds/ready-made-names.ts";
import type { Feed } from "../lists/search-feed.ts";
import type { Feeds } from "../service/feeds.ts";

/** The feed that a token reads, ready-made ones included; undefined when it was deleted. */
export function feedOfToken(
  { workspaceId, feedId }: { readonly workspaceId: string; readonly feedId: string },
  feeds: Pick<Feeds, "find" | "findById">,
  catalogue: Pick<TagCatalogue, "all">,
): Feed | undefined {
  const made = feeds.findById(feedId);
  if (made !== undefined) return made;
  const slugs = catalogue.all().map(({ slug }) => slug);
  const name = readyMadeNames(slugs).find((each) => feedIdOf(workspaceId, each) === feedId);
  return name === undefined ? undefined : feeds.find(workspaceId, name);
}
