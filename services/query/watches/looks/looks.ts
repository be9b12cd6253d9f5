import { randomUUID } from "node:crypto";
import type { TableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import type { WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { appendLook, type LoggedEvent, type LogHead, readLogHead } from "@noisefloor/clickhouse/watches/log.ts";
import type { News, NewsField } from "@noisefloor/clickhouse/watches/news.ts";
import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { authorizeScopes, DATASETS, GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { formatTimestamp, MINUTE_MS } from "@noisefloor/domain/time/window.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import type { AuthorizedCaller } from "../../auth.ts";
import type { Finding, Watching } from "../kinds/kind.ts";
import { indexNetworks, type WatchedNetworks } from "../kinds/network-seen.ts";
import { STORED_AS } from "../kinds/new-value.ts";
import type { MatchDeps } from "../kinds/search-matches.ts";
import type { EnsureKnown } from "../known.ts";
import { openRises } from "../tag-rises/rises.ts";
import { type FindOptions, findInNews, findOnTime, type WatchingByType } from "./find-all.ts";
import { formatPosition, type Position, readPosition } from "./position.ts";
import { RecentNews } from "./recent-news.ts";
import { readStored } from "./stored.ts";
import { ToldSubjects } from "./told.ts";

export type LooksOptions = {
  /** Its user may write the tables of watches. */
  readonly client: ClickHouseClient;
  readonly cache: WatchCache;
  /** Undefined for a workspace that is gone. */
  readonly callerOf: (workspaceId: string) => AuthorizedCaller | undefined;
  readonly deps: MatchDeps;
  readonly ensureKnown: EnsureKnown;
  /** Asked before each look: while nothing is stored, nothing is read. */
  readonly changes: TableChanges | undefined;
  /** The base of links, without a trailing slash. */
  readonly publicUrl: string;
  /** Called with events once they are in the log. */
  readonly onEvents: (events: readonly LoggedEvent[]) => void;
  /** Called when this process begins to look after the watches of all. */
  readonly onLead: () => Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly onRecovery?: () => void;
  /** Called with a watch that cannot be looked after; the others are. */
  readonly onFailure: (watchId: string, error: unknown) => void;
  /** How often it looks; 2 s unless given. */
  readonly everyMs?: number;
};

/** How looks go, for metrics. */
export type LooksState = { readonly isLeader: boolean; readonly lastMs: number; readonly ageSeconds: number };

const EVERY_MS = 2_000;
/** How many times as long as it took a look rests, so that the watches take no more than a fraction of a processor. */
const RESTS = 3;
const MAX_PAUSE_MS = 15_000;
/** A leader says that it is alive this often; after so much silence another process takes over. */
const ALIVE_MS = 10_000;
const STALE_MS = 25_000;
/** For how long what was read is asked for again: by then every table of the insert has it, and the search's memory. */
const SETTLED_MS = 30_000;
/** Behind that, the log of what was stored has gaps: the observations themselves are read. */
const MAX_GAP_MS = 5 * MINUTE_MS;
/** How often it looks at the time alone: for sensors that stopped and tags that rise. */
const ON_TIME_MS = 20_000;

/** Looks for what watches wait for, in one of the processes. */
export function openLooks(options: LooksOptions) {
  const { client, cache, deps, onEvents } = options;
  const holder = randomUUID();
  const stopping = new AbortController();
  const { signal } = stopping;
  const findRises = openRises(deps);
  const told = new ToldSubjects();
  const recent = new RecentNews();
  const readQuiet = options.changes?.(["observation_changes"]);
  /** The last row of the log while it is ours. */
  let head: LogHead | undefined;
  let position: Position = readPosition("");
  let readAt = Number.NEGATIVE_INFINITY;
  let writtenAt = Number.NEGATIVE_INFINITY;
  let onTimeAt = Number.NEGATIVE_INFINITY;
  let lookedAt = performance.now();
  /** Since this process leads. */
  let hasRead = false;
  /** Where the blocks that were read are not known, what was received since then (ms since 1970 UTC) is read again. */
  let gapSince = 0;
  let lastMs = 0;
  let known: { readonly of: readonly Watch[]; readonly byType: WatchingByType; readonly networks: WatchedNetworks } = {
    of: [],
    byType: byType([]),
    networks: indexNetworks([]),
  };

  const isTold: FindOptions["isTold"] = (watch, subject, at) => told.isTold(watch, subject, at);
  /** The watches that are looked after, as they are defined now. */
  const readWatches = () => {
    const all = cache.all();
    if (all !== known.of) {
      told.keep(known.of, all);
      const watching = all.flatMap((watch) => {
        const caller = watch.isEnabled ? options.callerOf(watch.workspaceId) : undefined;
        return caller === undefined ? [] : [{ watch, caller, scopes: scopesOf(caller) }];
      });
      const ofType = byType(watching);
      known = { of: all, byType: ofType, networks: indexNetworks(ofType.network_seen) };
    }
    return known;
  };
  /** Without what was there before the watch was made, all of that would be news. */
  const isKnown = async ({ watch, caller }: AnyWatching): Promise<boolean> => {
    if (await told.loadKnown(client, watch)) return true;
    try {
      await options.ensureKnown(watch, caller, signal);
      return await told.loadKnown(client, watch);
    } catch (error) {
      signal.throwIfAborted();
      options.onFailure(watch.id, error);
      return false;
    }
  };
  const withKnown = async (byTypes: WatchingByType): Promise<WatchingByType> => ({
    ...byTypes,
    search_matches: await filtered(byTypes.search_matches, isKnown),
    new_value: await filtered(byTypes.new_value, isKnown),
  });
  /** Reads the log, unless its last row is this process's. @returns whether this process may go on. */
  const lead = async (watches: readonly Watch[]): Promise<boolean> => {
    if (head !== undefined) return true;
    const last = await readLogHead(client);
    if (last !== undefined && last.holder !== "" && last.holder !== holder && last.ageMs < STALE_MS) return false;
    await told.load(client, watches);
    recent.clear();
    position = readPosition(last?.position ?? "");
    const taken = await appendLook(client, { holder, position: last?.position ?? "", events: [] }, last);
    if (taken === undefined) return false;
    // What was received since the last look, or since the first watch was made, may not have been looked at.
    const since = last === undefined ? Math.min(...watches.map(({ sinceAt }) => sinceAt)) : last.lookedAt;
    const isBehind = last === undefined || taken.lookedAt - last.lookedAt > MAX_GAP_MS;
    if (isBehind) position = [];
    gapSince = Math.max(since - SETTLED_MS, 0);
    head = taken;
    hasRead = false;
    readAt = performance.now() - (taken.lookedAt - since);
    writtenAt = performance.now();
    await options.onLead();
    return true;
  };
  const newsFields = (): NewsField[] => [
    ...new Set(known.byType.new_value.map(({ watch }) => STORED_AS[watch.on.field])),
  ];
  /** Reads what was stored since the last look. */
  const readNews = async (): Promise<News[]> => {
    const start = performance.now();
    const before = position;
    // A position that was read from the log lies further back than its row, by as much as a look and its pause took.
    const seconds = (start - readAt + 4 * SETTLED_MS) / 1_000;
    const stored = await readStored(client, before, { fields: newsFields(), seconds, gapSince });
    for (const read of stored.reads) recent.add(read, before);
    position = stored.position;
    readAt = start;
    hasRead = true;
    return stored.reads.map(({ news }) => news);
  };
  const toEvent = async ({ watch, subjects, describe }: Finding) => {
    const event: WatchEvent = {
      id: randomUUID(),
      watch: { id: watch.id, name: watch.name },
      detected_at: formatTimestamp(deps.now()),
      link: `${options.publicUrl}/watches/${watch.id}`,
      ...(await describe(signal)),
    };
    return {
      id: event.id,
      workspaceId: watch.workspaceId,
      watchId: watch.id,
      body: JSON.stringify(event),
      subjects: [...subjects.keys()],
      times: [...subjects.values()],
    };
  };

  const look = async () => {
    const start = performance.now();
    const { of: watches, byType: all, networks } = readWatches();
    const isAny = Object.values(all).some((each) => each.length > 0);
    if (!isAny || !(await lead(watches))) {
      lookedAt = start;
      if (!isAny && head !== undefined) await release();
      return;
    }
    const watching = await withKnown(all);
    const findOptions = { watching, networks, isTold, deps, findRises, onFailure: options.onFailure };
    const findings: Finding[] = [];
    if (watching.network_seen.length + watching.search_matches.length + watching.new_value.length > 0) {
      // Each of several owners has parts of its own.
      const quiet = hasRead && position.length === 1 ? await readQuiet?.() : undefined;
      const news = quiet?.isQuiet ? [] : await readNews();
      if (quiet?.isQuiet) readAt = quiet.askedAt;
      findings.push(...(await findInNews(news, recent, findOptions, signal)));
    }
    if (start - onTimeAt >= ON_TIME_MS) {
      findings.push(...(await findOnTime(findOptions, signal)));
      onTimeAt = start;
    }
    // A look that takes long asks its first searches long before it ends.
    recent.forget(start - SETTLED_MS);
    if (findings.length > 0 || performance.now() - writtenAt >= ALIVE_MS) await write(findings);
    lookedAt = start;
    lastMs = performance.now() - start;
  };
  const write = async (findings: readonly Finding[]) => {
    const events: Awaited<ReturnType<typeof toEvent>>[] = [];
    for (const finding of findings) events.push(await toEvent(finding));
    const after = head;
    // Unless it is known that the log has them, what it has is read again: never is anything told twice, or not at all.
    head = undefined;
    const written = await appendLook(
      client,
      { holder, position: formatPosition(recent.start ?? position), events },
      after,
    );
    if (written === undefined) return;
    head = written;
    gapSince = written.lookedAt - SETTLED_MS;
    writtenAt = performance.now();
    for (const event of events) told.add(event.watchId, event);
    if (events.length > 0) onEvents(events.map((event, index) => ({ ...event, look: written.look, index })));
  };
  /** Lets another process take over at once. */
  const release = async () => {
    const after = head;
    head = undefined;
    await appendLook(client, { holder: "", position: formatPosition(recent.start ?? position), events: [] }, after);
  };

  const everyMs = options.everyMs ?? EVERY_MS;
  const looking = repeatEvery(
    async () => {
      try {
        await look();
      } catch (error) {
        // What was read is not in the log: it is read again from there.
        head = undefined;
        throw error;
      }
    },
    {
      everyMs: undefined,
      firstMs: everyMs,
      pauseMs: () => Math.min(MAX_PAUSE_MS, Math.max(everyMs, RESTS * lastMs)),
      onError: options.onError,
      onRecovery: options.onRecovery,
    },
  );
  return {
    /** Looks now. */
    look: looking.run,
    state: (): LooksState => ({
      isLeader: head !== undefined,
      lastMs,
      ageSeconds: (performance.now() - lookedAt) / 1_000,
    }),
    async stop() {
      stopping.abort();
      await looking.stop();
      if (head !== undefined) await release().catch(() => {});
    },
  };
}

/** What a watch may find: as the search, the observations of its own workspace too where that may ask for them. */
function scopesOf(caller: Caller) {
  const scopes = authorizeScopes("ip", { supplied: true, recognized: [...DATASETS], unrecognized: [] }, caller);
  return "status" in scopes ? [GLOBAL_SCOPE] : scopes;
}

async function filtered<T>(items: readonly T[], isWanted: (item: T) => Promise<boolean>): Promise<T[]> {
  const wanted: T[] = [];
  for (const item of items) if (await isWanted(item)) wanted.push(item);
  return wanted;
}

type AnyWatching = Omit<Watching<"network_seen">, "watch"> & { readonly watch: Watch };

function byType(watching: readonly AnyWatching[]): WatchingByType {
  const of = <Type extends Watch["on"]["type"]>(type: Type) =>
    watching.flatMap(({ watch: { on, ...watch }, ...each }) =>
      isOf(on, type) ? [{ ...each, watch: { ...watch, on } }] : [],
    );
  return {
    network_seen: of("network_seen"),
    search_matches: of("search_matches"),
    tag_rises: of("tag_rises"),
    new_value: of("new_value"),
    sensor_silent: of("sensor_silent"),
  };
}

const isOf = <Type extends Watch["on"]["type"]>(
  on: Watch["on"],
  type: Type,
): on is Extract<Watch["on"], { type: Type }> => on.type === type;
