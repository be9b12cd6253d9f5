import type { News } from "@noisefloor/clickhouse/watches/news.ts";
import type { WatchType } from "@noisefloor/domain/watches/watch.ts";
import type { Finding, IsTold, Watching } from "../kinds/kind.ts";
import { findInNetworks, type WatchedNetworks } from "../kinds/network-seen.ts";
import { findNewValues } from "../kinds/new-value.ts";
import { findMatches, type MatchDeps } from "../kinds/search-matches.ts";
import { findSilentSensors } from "../kinds/sensor-silent.ts";
import { findRisingTags } from "../kinds/tag-rises.ts";
import type { FindRises } from "../tag-rises/rises.ts";
import type { RecentNews } from "./recent-news.ts";

/** The watches by their type. */
export type WatchingByType = { readonly [Type in WatchType]: readonly Watching<Type>[] };

export type FindOptions = {
  readonly watching: WatchingByType;
  readonly networks: WatchedNetworks;
  readonly isTold: IsTold;
  readonly deps: MatchDeps;
  readonly findRises: FindRises;
  /** Called with a watch that cannot be looked after: the others are. */
  readonly onFailure: (watchId: string, error: unknown) => void;
};

/** What was found of all watches that look at what was stored. @param news what this look read. */
export async function findInNews(
  news: readonly News[],
  recent: RecentNews,
  { watching, networks, isTold, deps, onFailure }: FindOptions,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = findInNetworks(news, networks, isTold, deps);
  const attempt = async (watchId: string, find: () => Promise<Finding | undefined>) => {
    signal.throwIfAborted();
    try {
      const finding = await find();
      if (finding !== undefined) findings.push(finding);
    } catch (error) {
      signal.throwIfAborted();
      onFailure(watchId, error);
    }
  };
  const values = recent.values();
  if (values.length > 0) {
    for (const each of watching.new_value) {
      await attempt(each.watch.id, () => findNewValues(each, values, isTold, deps, signal));
    }
  }
  if (watching.search_matches.length === 0) return findings;
  const { candidates, among } = recent.candidates();
  if (among.length === 0) return findings;
  for (const each of watching.search_matches) {
    await attempt(each.watch.id, () => findMatches(each, candidates, among, isTold, deps, signal));
  }
  return findings;
}

/** What was found of the watches that look at the time alone. */
export async function findOnTime(
  { watching, isTold, deps, findRises }: FindOptions,
  signal: AbortSignal,
): Promise<Finding[]> {
  const silent = await findSilentSensors(watching.sensor_silent, isTold, deps, signal);
  return [...silent, ...(await findRisingTags(watching.tag_rises, findRises, isTold, deps, signal))];
}
