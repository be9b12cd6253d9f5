import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { CataloguedTag } from "@noisefloor/clickhouse/tags/tags.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { DAY_MS, floorToHour } from "@noisefloor/domain/time/window.ts";
import { MIN_ADDRESSES } from "./operation.ts";
import { type Expected, expectedOf, levelOf, MAX_DAYS, MIN_DAYS } from "./rises.ts";
import { countTagDays, countTagGroups, observedDays, tagHours } from "./tag-queries.ts";

/** What a day is of. Times in milliseconds since 1970 UTC; what is older than `since` has expired. */
export type Day = { readonly scopes: Scope[]; readonly start: number; readonly since: number };

type Counted = { readonly tag: CataloguedTag; readonly addresses: number };
export type TagNews = {
  readonly newTags: readonly Counted[];
  readonly risingTags: readonly (Counted & { readonly expected: Expected })[];
  readonly newCves: readonly { readonly cve: string; readonly addresses: number }[];
  /** How many days the day is compared with; 0 for too few. */
  readonly comparedDays: number;
};

/** Which tags and CVEs are new in a day, and which tags have more addresses than is usual. */
export async function readTagNews(
  { scopes, start, since }: Day,
  { read, catalogue }: { readonly read: Read; readonly catalogue: Pick<TagCatalogue, "all"> },
  signal: AbortSignal,
): Promise<TagNews> {
  const oldest = floorToHour(since);
  const before = { scopes, from: Math.max(oldest, start - MAX_DAYS * DAY_MS) / 1_000, start: start / 1_000 };
  const [hours, days, observed] = await Promise.all([
    read(tagHours, { scopes, from: oldest / 1_000 }, signal),
    read(countTagDays, before, signal),
    read(observedDays, before, signal),
  ]);
  const firstOf = new Map(hours.map(({ tag_id, first }) => [tag_id, first * 1_000]));
  const isActive = new Set(hours.flatMap(({ tag_id, last }) => (last * 1_000 >= start ? [tag_id] : [])));
  const active = catalogue.all().filter(({ id }) => isActive.has(id));
  const cves = newCvesOf(catalogue.all(), firstOf, start);
  const groups = active.map(({ id }, number) => [
    number,
    ...[...cves.values()].flatMap((ids, index) => (ids.has(id) ? [active.length + index] : [])),
  ]);
  const slice = { scopes, from: start / 1_000, tags: active.map(({ id }) => id), groups };
  const counts = new Map(
    (await read(countTagGroups, slice, signal)).map(({ number, active_ips }) => [number, active_ips]),
  );
  const counted = active.map((tag, number) => ({ tag, addresses: counts.get(number) ?? 0 }));
  const comparedDays = observed.length < MIN_DAYS ? 0 : observed.length;
  const past = groupDays(days);
  const known = comparedDays === 0 ? [] : counted.filter(({ tag }) => (firstOf.get(tag.id) ?? start) < start);
  const compared = known.map(({ tag, addresses }) => {
    const daysOf = past.get(tag.id);
    return { tag, addresses, past: observed.map(({ day }) => daysOf?.get(day) ?? 0) };
  });
  const level = levelOf(compared);
  return {
    newTags: counted.filter(({ tag }) => (firstOf.get(tag.id) ?? 0) >= start),
    risingTags: compared.flatMap(({ tag, addresses, past }) => {
      const expected = expectedOf(past.map((count) => count * level));
      return addresses > expected.high ? [{ tag, addresses, expected }] : [];
    }),
    newCves: [...cves.keys()].flatMap((cve, index) => {
      const addresses = counts.get(active.length + index) ?? 0;
      return addresses >= MIN_ADDRESSES ? [{ cve, addresses }] : [];
    }),
    comparedDays,
  };
}

/** The CVEs of which no tag was seen before a time, with the ids of the tags that name them. */
function newCvesOf(
  tags: readonly CataloguedTag[],
  firstOf: ReadonlyMap<string, number>,
  start: number,
): Map<string, Set<string>> {
  const cves = new Map<string, Set<string>>();
  const old = new Set<string>();
  for (const tag of tags) {
    const first = firstOf.get(tag.id);
    if (first === undefined) continue;
    for (const cve of tag.cves.map((id) => id.toUpperCase())) {
      if (first < start) old.add(cve);
      else cves.set(cve, (cves.get(cve) ?? new Set()).add(tag.id));
    }
  }
  for (const cve of old) cves.delete(cve);
  return cves;
}

function groupDays(days: readonly { tag_id: string; day: number; active_ips: number }[]) {
  const past = new Map<string, Map<number, number>>();
  for (const { tag_id, day, active_ips } of days) {
    past.set(tag_id, (past.get(tag_id) ?? new Map<number, number>()).set(day, active_ips));
  }
  return past;
}
