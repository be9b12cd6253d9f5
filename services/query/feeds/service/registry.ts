import type { FeedCache } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { type Feed, type FeedDefinition, feedIdOf } from "@noisefloor/domain/feeds/feed-definition.ts";
import { READY_MADE_NAMES, readyMadeNames } from "@noisefloor/domain/feeds/ready-made-names.ts";
import { readyMadeFeed } from "./ready-made.ts";

/** Which feeds there are: those that users made, and the ready-made ones. */
export type FeedRegistry = {
  find(workspaceId: string, name: string): Feed | undefined;
  /** The feeds of a workspace, those that it made first; of the ready-made ones without one for each tag. */
  ofWorkspace(workspaceId: string): readonly Feed[];
  /** The feed that a token of a workspace reads; undefined when it was deleted. */
  ofToken(workspaceId: string, feedId: string): Feed | undefined;
};

const toFeed = (definition: FeedDefinition): Feed => ({ ...definition, isReadyMade: false });

export function openRegistry(
  cache: Pick<FeedCache, "feeds" | "feedById">,
  catalogue: Pick<TagCatalogue, "all" | "resolve">,
  listsSpoofable: boolean,
): FeedRegistry {
  const find = (workspaceId: string, name: string) => {
    const made = cache.feedById(feedIdOf(workspaceId, name));
    return made ? toFeed(made) : readyMadeFeed(workspaceId, name, { tags: catalogue, listsSpoofable });
  };
  return {
    find,
    ofWorkspace: (workspaceId) => [
      ...cache.feeds().flatMap((made) => (made.workspaceId === workspaceId ? [toFeed(made)] : [])),
      ...READY_MADE_NAMES.flatMap((name) => find(workspaceId, name) ?? []),
    ],
    ofToken(workspaceId, feedId) {
      const made = cache.feedById(feedId);
      if (made !== undefined) return toFeed(made);
      const slugs = catalogue.all().map(({ slug }) => slug);
      const name = readyMadeNames(slugs).find((each) => feedIdOf(workspaceId, each) === feedId);
      return name === undefined ? undefined : find(workspaceId, name);
    },
  };
}
