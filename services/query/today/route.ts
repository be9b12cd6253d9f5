import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { writeValue } from "@noisefloor/domain/query-language/completion/complete.ts";
import { activityWindow, formatTimestamp, retentionStart } from "@noisefloor/domain/time/window.ts";
import type { FastifyInstance } from "fastify";
import { LRUCache } from "lru-cache";
import type { z } from "zod";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { STATS_COST, TODAY_COST } from "../costs.ts";
import { readScopes } from "../parameters.ts";
import { createSharedAnswers, type SharedQuestion } from "../shared-answers.ts";
import { firstSeenSince } from "../stats/first-seen.ts";
import { countSeen } from "../stats/queries.ts";
import { readStoredSpan, type StoredSpan, toStoredSpan } from "../stats/stored-hours.ts";
import { newPaths } from "./new-paths.ts";
import { getToday, MAX_LISTED, MIN_ADDRESSES } from "./operation.ts";
import { type Day, readTagNews, type TagNews } from "./tags.ts";
import { readWorkspaceNews, type SearchOf, type WorkspaceDeps } from "./workspace.ts";

export type TodayDeps = RouteDeps & WorkspaceDeps & { readonly publicUrl: string };

const MAX_KEPT = 100;
/** Every visit of the explorer asks, and most callers ask for the same. */
const KEPT_MS = 60_000;

/** `GET /v3/today`: what is different since yesterday. */
export function registerToday(app: FastifyInstance, deps: TodayDeps): void {
  const answer = createSharedAnswers<News>(app);
  const kept = new LRUCache<string, News>({ max: MAX_KEPT, ttl: KEPT_MS, ttlResolution: 0, perf: { now: deps.now } });
  const readAndKeep = async (question: SharedQuestion, day: Day, signal: AbortSignal) => {
    const news = await answer(question, signal, (shared) => readNews(day, deps, shared));
    // A store without a yesterday answers quickly, and its first observations show immediately.
    if (hasYesterday(news.stored, day)) kept.set(question.key, news);
    return news;
  };
  const searchOf = searchLinks(deps.publicUrl);
  app.implement(getToday, async (request, _reply, { signal }) => {
    const caller = deps.authenticate(request);
    const scopes = readScopes("tag-activity", request.query, caller);
    const { workspaceId, entitlements } = caller;
    const { start, end } = activityWindow(deps.now(), 1);
    const day = { scopes, start, since: retentionStart(deps.now(), deps.retentionDays()) };
    const key = JSON.stringify({ scopes, start });
    const news = kept.get(key) ?? (await readAndKeep({ request, key, cost: TODAY_COST }, day, signal));
    const ofWorkspace =
      workspaceId === undefined
        ? undefined
        : await app.admission.run(request, STATS_COST, signal, () =>
            readWorkspaceNews(day, { workspaceId, entitlements }, deps, searchOf, signal),
          );
    return {
      ...toWire(news, day, searchOf),
      ...ofWorkspace,
      metadata: {
        start_date: formatTimestamp(start),
        end_date: formatTimestamp(end),
        has_yesterday: hasYesterday(news.stored, day),
        compared_days: news.tags.comparedDays,
        ...toStoredSpan(news.stored),
      },
    };
  });
}

const hasYesterday = (stored: StoredSpan, { start }: Day) => stored !== undefined && stored.from < start;

const NO_TAG_NEWS: TagNews = { newTags: [], risingTags: [], newCves: [], comparedDays: 0 };

/** What is the same for all callers with the same scopes. */
type News = {
  readonly stored: StoredSpan;
  readonly seen: number;
  readonly fresh: number;
  readonly paths: z.output<typeof newPaths.row>;
  readonly tags: TagNews;
};

async function readNews(day: Day, deps: TodayDeps, signal: AbortSignal): Promise<News> {
  const { scopes, start: from, since } = day;
  const stored = await readStoredSpan(day, deps.read, signal);
  if (!hasYesterday(stored, day)) {
    const seen = onlyRow(countSeen, await deps.read(countSeen, { scopes, from }, signal)).active_ips;
    return { stored, seen, fresh: 0, paths: { count: 0, paths: [] }, tags: NO_TAG_NEWS };
  }
  await refreshOutdated(deps);
  const [seen, fresh, tags, paths] = await Promise.all([
    deps.read(countSeen, { scopes, from }, signal),
    deps.read(firstSeenSince, { scopes, from, since, limit: 1 }, signal),
    readTagNews(day, deps, signal),
    deps.read(newPaths, { scopes, from, since, minAddresses: MIN_ADDRESSES }, signal),
  ]);
  return {
    ...{ stored, tags, seen: onlyRow(countSeen, seen).active_ips, fresh: onlyRow(firstSeenSince, fresh).total_ips },
    paths: onlyRow(newPaths, paths),
  };
}

function toWire({ seen, fresh, paths, tags }: News, { start }: Day, searchOf: SearchOf) {
  const from = formatTimestamp(start);
  const tagMembers = ({ tag: { slug, name, intention }, addresses }: TagNews["newTags"][number], days: number) => ({
    ...{ slug, name, intention, active_ips: addresses },
    search: searchOf(`tags:${slug}`, days),
  });
  const newTags = mostFirst(tags.newTags, ({ tag }) => tag.slug);
  const risingTags = tags.risingTags.toSorted((one, other) => riseOf(other) - riseOf(one));
  const newCves = mostFirst(tags.newCves, ({ cve }) => cve);
  return {
    addresses: {
      seen: { count: seen, search: searchOf(`last_seen:>=${from}`) },
      new: { count: fresh, search: searchOf(`first_seen:>=${from}`) },
    },
    new_tags: listed(newTags, (one) => tagMembers(one, 0)),
    rising_tags: listed(risingTags, (one) => ({ ...tagMembers(one, 1), expected: one.expected })),
    new_paths: {
      count: paths.count,
      entries: paths.paths.map(([path, active_ips]) => ({
        ...{ path, active_ips },
        search: searchOf(`path:${writeValue(path)}`),
      })),
    },
    new_cves: listed(newCves, ({ cve, addresses }) => ({
      ...{ cve, active_ips: addresses },
      search: searchOf(`cve:${cve}`),
    })),
  };
}

const riseOf = ({ addresses, expected }: TagNews["risingTags"][number]) =>
  (addresses - expected.median) / (expected.high - expected.median);

/** By their addresses, ties by a text. */
function mostFirst<T extends { readonly addresses: number }>(all: readonly T[], textOf: (one: T) => string): T[] {
  return all.toSorted((one, other) => other.addresses - one.addresses || (textOf(one) < textOf(other) ? -1 : 1));
}

const listed = <T, Entry>(all: readonly T[], toEntry: (one: T) => Entry) => ({
  count: all.length,
  entries: all.slice(0, MAX_LISTED).map(toEntry),
});

/** Makes searches with their pages in the explorer. */
function searchLinks(publicUrl: string): SearchOf {
  return (query, days = 0, page = "/search") => {
    const parameters = new URLSearchParams({ ...(query && { query }), ...(days > 0 && { days: String(days) }) });
    return { query, days, link: `${publicUrl}${page}${parameters.size === 0 ? "" : `?${parameters}`}` };
  };
}
