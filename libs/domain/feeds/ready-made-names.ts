/** The feeds that every workspace has; there is one a tag besides. */
export const READY_MADE_NAMES = ["recent", "persistent", "callbacks"] as const;

export const TAG_FEED_PREFIX = "tag-";

/** All of them, one for each tag included. */
export const readyMadeNames = (slugs: readonly string[]): string[] => [
  ...READY_MADE_NAMES,
  ...slugs.map((slug) => `${TAG_FEED_PREFIX}${slug}`),
];
