import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { DAY_MS, floorToHour, HOUR_MS, retentionStart } from "@noisefloor/domain/time/window.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { LRUCache } from "lru-cache";
import { type Expect, type Expected, learnUsual } from "./expected.ts";
import { readTagHours } from "./tag-hours.ts";

/** A tag as the scopes show it. */
export type ScopedTag = { readonly tagId: string; readonly scopes: readonly Scope[] };

/** An hour of a tag with more addresses than is usual. */
export type Rise = ScopedTag & {
  /** Its beginning, in milliseconds since 1970 UTC. It may still go on. */
  readonly hour: number;
  /** Distinct addresses so far. */
  readonly count: number;
  readonly expected: Expected;
};

/** The past that is looked at, and how much of it there must be. */
const PAST_DAYS = 56;
const MIN_DAYS = 14;
/** About 12 KB each. */
const MAX_KEPT = 5_000;

/** @returns a sentence on why no rise could be found, ever, with this retention. */
export function whyNoRises(retentionDays: number): string | undefined {
  if (retentionDays > MIN_DAYS) return undefined;
  return `tag_rises compares with more than two weeks of data, and observations are kept for ${retentionDays} days`;
}

export type RisesOptions = {
  readonly read: Read;
  readonly retentionDays: () => number;
  /** In milliseconds since 1970 UTC. */
  readonly now: () => number;
};

export type FindRises = (tags: readonly ScopedTag[], signal: AbortSignal) => Promise<Rise[]>;

/**
 * Finds the tags whose current or last full hour is above all that is usual; none before two weeks of data are stored.
 * Earlier hours are never judged: data that comes late is no alarm. What is usual is learned once an hour.
 */
export function openRises({ read, retentionDays, now }: RisesOptions): FindRises {
  const learned = new LRUCache<string, Expect | "too young">({ max: MAX_KEPT });
  const findIn = async (scopes: readonly Scope[], tagIds: readonly string[], signal: AbortSignal): Promise<Rise[]> => {
    /** The beginning of the last full hour. */
    const judgedFrom = floorToHour(now()) - HOUR_MS;
    const kept = Math.ceil(retentionStart(now(), retentionDays()) / HOUR_MS) * HOUR_MS;
    const past = { from: Math.max(kept, judgedFrom - PAST_DAYS * DAY_MS), end: judgedFrom };
    const keyOf = (tagId: string) => JSON.stringify([scopes, tagId, judgedFrom]);
    const missing = tagIds.filter((tagId) => !learned.has(keyOf(tagId)));
    if (missing.length > 0) {
      const [all, ...counts] = await readTagHours({ tagIds: [NIL_TAG_ID, ...missing], scopes, ...past }, read, signal);
      for (const [index, tagId] of missing.entries()) {
        learned.set(keyOf(tagId), learn(past.from, counts[index], all));
        await yieldToEventLoop();
      }
    }
    const judged = { from: judgedFrom, end: judgedFrom + 2 * HOUR_MS };
    const [all, ...counts] = await readTagHours({ tagIds: [NIL_TAG_ID, ...tagIds], scopes, ...judged }, read, signal);
    return tagIds.flatMap((tagId, index) => {
      const expect = learned.get(keyOf(tagId));
      if (typeof expect !== "function") return [];
      return Array.from(counts[index] ?? [], (count, place): Rise => {
        const hour = judgedFrom + place * HOUR_MS;
        return { tagId, scopes, hour, count, expected: expect(hour, (all?.[place] ?? 0) - count) };
      }).filter(({ count, expected }) => count > expected.high);
    });
  };
  return async (tags, signal) => {
    const byScopes = new Map<string, { readonly scopes: readonly Scope[]; readonly tagIds: Set<string> }>();
    for (const { tagId, scopes } of tags) {
      const key = JSON.stringify(scopes);
      const group = byScopes.get(key) ?? { scopes, tagIds: new Set() };
      byScopes.set(key, group);
      group.tagIds.add(tagId);
    }
    const rises: Rise[] = [];
    for (const { scopes, tagIds } of byScopes.values()) rises.push(...(await findIn(scopes, [...tagIds], signal)));
    return rises;
  };
}

/** @param all the counts of all addresses, whatever their tags: in an hour without any, no sensor was heard. */
function learn(
  from: number,
  counts: Float64Array = new Float64Array(),
  all: Float64Array = new Float64Array(),
): Expect | "too young" {
  const first = all.findIndex((count) => count > 0);
  if (first < 0 || all.length - first < MIN_DAYS * (DAY_MS / HOUR_MS)) return "too young";
  const known = counts.map((count, hour) => (all[hour] === 0 ? Number.NaN : count));
  const others = all.map((count, hour) => (count === 0 ? Number.NaN : count - (counts[hour] ?? 0)));
  return learnUsual({ from: from + first * HOUR_MS, counts: known.subarray(first), others: others.subarray(first) });
}
