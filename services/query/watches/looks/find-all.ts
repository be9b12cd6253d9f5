import { setTimeout as sleep } from "node:timers/promises";
import type { News } from "@noisefloor/clickhouse/watches/news.ts";
import type { WatchType } from "@noisefloor/domain/watches/watch.ts";
import type { Finding, IsTold, Watching } from "../kinds/kind.ts";
import { findInNetworks, type WatchedNetworks } from "../kinds/network-seen.ts";
import { findNewValues } from "../kinds/new-value.ts";
import { findMatches, type MatchDeps, NOT_IN_MEMORY } from "../kinds/search-matches.ts";
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
  /** Called before each question that may take a while. */
  readonly stayAlive: () => Promise<void>;
};

/** Memory that loads fields, or is behind while much is stored, answers soon: the store takes longer for so many. */
const MAX_ASKED_OF_STORE = 100;
const MEMORY_TRIES = 5;
const MEMORY_PAUSE_MS = 1_000;

/** What was found of all watches that look at what was stored. @param news what this look read. */
export async function findInNews(
  news: readonly News[],
  recent: RecentNews,
  { watching, networks, isTold, deps, onFailure, stayAlive }: FindOptions,
  signal: AbortSignal,
): Promise<Finding[]> {
  const findings: Finding[] = findInNetworks(news, networks, isTold, deps);
  /** @returns whether it was found out, unless the watch cannot be looked after. */
  const attempt = async (watchId: string, find: () => ReturnType<typeof findMatches>) => {
    signal.throwIfAborted();
    await stayAlive();
    try {
      const finding = await find();
      if (finding === NOT_IN_MEMORY) return false;
      if (finding !== undefined) findings.push(finding);
    } catch (error) {
      signal.throwIfAborted();
      onFailure(watchId, error);
    }
    return true;
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
  /** @returns those that memory does not answer now. */
  const ask = async (searches: WatchingByType["search_matches"], asksStore: boolean) => {
    const left: (typeof searches)[number][] = [];
    for (const each of searches) {
      const find = () => findMatches(each, candidates, among, isTold, { ...deps, asksStore }, signal);
      if (!(await attempt(each.watch.id, find))) left.push(each);
    }
    return left;
  };
  let left = watching.search_matches;
  if (deps.memory !== undefined) {
    left = await ask(left, false);
    for (let tries = 0; tries < MEMORY_TRIES && left.length > MAX_ASKED_OF_STORE; tries++) {
      await sleep(MEMORY_PAUSE_MS, undefined, { signal });
      left = await ask(left, false);
    }
  }
  await ask(left, true);
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
