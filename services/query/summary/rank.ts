/** A tag's distinct addresses in a window and in the window before it; undefined where that one is not stored whole. */
export type TagCounts = { readonly current: number; readonly previous: number | undefined };

/** How a list of tags is ordered, and what its score says. */
export type Ranking = {
  score(counts: TagCounts): number;
  /** The higher, the earlier in the list. */
  order(score: number): number;
  isListed(counts: TagCounts): boolean;
};

/**
 * `anomalies` measures a change in standard deviations of a count that varies by chance alone, so that ten addresses
 * more are much for a small tag and nothing for a large one. A tag that fell silent is one, too. Nothing is listed when
 * the window before began before the first observation, as no change is known then.
 */
export const RANKINGS = {
  trending: {
    score: ({ current, previous = current }) => current - previous,
    order: (score) => score,
    isListed: ({ current }) => current > 0,
  },
  anomalies: {
    score: ({ current, previous = current }) =>
      Math.round(((current - previous) / Math.sqrt(Math.max(1, previous))) * 100) / 100,
    order: Math.abs,
    isListed: ({ current, previous = current }) => current !== previous,
  },
  active: {
    score: ({ current }) => current,
    order: (score) => score,
    isListed: ({ current }) => current > 0,
  },
} as const satisfies Record<string, Ranking>;
export type Sort = keyof typeof RANKINGS;

export type Ranked<T> = T & { readonly score: number };

/** The first `limit` tags of an order; ties by their addresses and then by slug. */
export function rank<T extends TagCounts & { readonly slug: string }>(
  tags: readonly T[],
  sort: Sort,
  limit: number,
): Ranked<T>[] {
  const ranking: Ranking = RANKINGS[sort];
  return tags
    .filter(ranking.isListed)
    .map((tag) => ({ ...tag, score: ranking.score(tag) }))
    .sort(
      (a, b) => ranking.order(b.score) - ranking.order(a.score) || b.current - a.current || (a.slug < b.slug ? -1 : 1),
    )
    .slice(0, limit);
}
