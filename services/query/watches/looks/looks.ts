import { randomUUID } from "node:crypto";
import type { TableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import type { WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import {
  appendLook,
  type LoggedEvent,
  type LogHead,
  readLogHead,
  readStoreTime,
} from "@noisefloor/clickhouse/watches/log.ts";
import type { News, NewsField } from "@noisefloor/clickhouse/watches/news.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { formatTimestamp, MINUTE_MS } from "@noisefloor/domain/time/window.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import type { AuthorizedCaller } from "../../auth.ts";
import type { Finding } from "../kinds/kind.ts";
import { STORED_AS } from "../kinds/new-value.ts";
import type { MatchDeps } from "../kinds/search-matches.ts";
import type { EnsureKnown } from "../known.ts";
import { openRises } from "../tag-rises/rises.ts";
import { type FindOptions, findInNews, findOnTime, type WatchingByType } from "./find-all.ts";
import { formatPosition, type Position, readPosition } from "./position.ts";
import { RecentNews } from "./recent-news.ts";
import { readStored } from "./stored.ts";
import { ToldSubjects } from "./told.ts";
import { type AnyWatching, NOTHING_WATCHED, readWatched } from "./watched.ts";

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
  const processId = randomUUID();
  /** Another one each time: an insert of before, of which no answer came, may still be stored, and is not this one's. */
  let holder = "";
  const stopping = new AbortController();
  const { signal } = stopping;
  const findRises = openRises(deps);
  const told = new ToldSubjects();
  const recent = new RecentNews();
  const readQuiet = options.changes?.(["observation_changes"]);
  /** The last row of the log while it is ours. */
  let head: LogHead | undefined;
  let position: Position = readPosition("", 0);
  let writtenAt = Number.NEGATIVE_INFINITY;
  let onTimeAt = Number.NEGATIVE_INFINITY;
  let lookedAt = performance.now();
  /** Since this process leads. */
  let hasRead = false;
  /** Where the blocks that were read are not known, what was received since then (ms since 1970 UTC) is read again. */
  let gapSince = 0;
  let lastMs = 0;
  let known = NOTHING_WATCHED;
  /** `performance.now()` stands still while the machine sleeps. */
  const sleptMs = () => deps.now() - performance.now();
  let sleptBefore = sleptMs();

  const isTold: FindOptions["isTold"] = (watch, subject, at) => told.isTold(watch, subject, at);
  /** Without what was there before the watch was made, all of that would be news. */
  const isKnown = async ({ watch, caller }: AnyWatching): Promise<boolean> => {
    await stayAlive();
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
  const lead = async (watches: readonly Watch[], watching: readonly Pick<Watch, "sinceAt">[]): Promise<boolean> => {
    if (head !== undefined) return true;
    const last = await readLogHead(client);
    if (last !== undefined && last.holder !== "" && !last.holder.startsWith(processId) && last.ageMs < STALE_MS)
      return false;
    // What was received since the last look, or since the first watch was made, may not have been looked at.
    const now = last === undefined ? await readStoreTime(client) : last.lookedAt + last.ageMs;
    const first = Math.min(now, ...watching.map(({ sinceAt }) => sinceAt));
    const stored = readPosition(last?.position ?? "", last?.ageMs ?? Number.POSITIVE_INFINITY);
    const at = Math.max(stored.at, performance.now() - (now - first));
    const isBehind = performance.now() - at > MAX_GAP_MS;
    position = { owners: isBehind ? [] : stored.owners, at };
    recent.clear();
    await told.load(client, watches);
    holder = `${processId} ${randomUUID()}`;
    const taken = await appendLook(client, { holder, position: formatPosition(position), events: [] }, last);
    if (taken === undefined) return false;
    head = taken;
    hasRead = false;
    writtenAt = performance.now();
    gapSince = storeTime(at - SETTLED_MS);
    await options.onLead();
    return true;
  };
  /** What the store's clock said at a time of `performance.now()`, in ms since 1970 UTC. */
  const storeTime = (at: number) => Math.floor((head?.lookedAt ?? 0) - (writtenAt - at));
  const newsFields = (): NewsField[] => [
    ...new Set(known.byType.new_value.map(({ watch }) => STORED_AS[watch.on.field])),
  ];
  /** Reads what was stored since the last look. */
  const readNews = async (): Promise<News[]> => {
    const start = performance.now();
    const before = position;
    const seconds = (start - before.at + SETTLED_MS * 2) / 1_000;
    const { reads, owners } = await readStored(client, before.owners, { fields: newsFields(), seconds, gapSince });
    for (const read of reads) recent.add(read, before);
    position = { owners, at: start };
    gapSince = storeTime(start - SETTLED_MS);
    hasRead = true;
    return reads.map(({ news }) => news);
  };
  const toEvent = async ({ watch, subjects, describe }: Finding) => {
    const event: WatchEvent = {
      id: randomUUID(),
      watch: { id: watch.id, name: watch.name },
      detected_at: formatTimestamp(storeTime(performance.now())),
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
    // Others may have taken over meanwhile, and the log of what was stored have gaps.
    if (sleptMs() - sleptBefore > STALE_MS) head = undefined;
    sleptBefore = sleptMs();
    const before = known;
    known = readWatched(before, cache, options.callerOf);
    if (known.of !== before.of) told.keep(before.of, known.of);
    const { of: watches, byType: all, networks } = known;
    const watched = Object.values(all).flatMap((each) => each.map(({ watch }) => watch));
    const isAny = watched.length > 0;
    if (!isAny || !(await lead(watches, watched))) {
      lookedAt = start;
      if (!isAny && head !== undefined) await release();
      return;
    }
    const watching = await withKnown(all);
    const findOptions = { watching, networks, isTold, deps, findRises, onFailure: options.onFailure, stayAlive };
    const findings: Finding[] = [];
    if (watching.network_seen.length + watching.search_matches.length + watching.new_value.length > 0) {
      // Each of several owners has parts of its own.
      const quiet = hasRead && position.owners.length === 1 ? await readQuiet?.() : undefined;
      const news = quiet?.isQuiet ? [] : await readNews();
      if (quiet?.isQuiet) position = { ...position, at: quiet.askedAt };
      // A watch that was made a moment ago waits for what was read before this process knew of it.
      const isChanged = known !== before;
      findings.push(...(await findInNews(isChanged ? recent.news() : news, recent, findOptions, signal)));
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
  /** Says during a long look that it goes on, or others would take over. */
  const stayAlive = async () => {
    if (performance.now() - writtenAt >= ALIVE_MS && !(await write([]))) throw new Error("another process looks");
  };
  /** @returns whether this process may go on. */
  const write = async (findings: readonly Finding[]): Promise<boolean> => {
    const events: Awaited<ReturnType<typeof toEvent>>[] = [];
    for (const finding of findings) {
      await stayAlive();
      events.push(await toEvent(finding));
    }
    const after = head;
    // Unless it is known that the log has them, what it has is read again: never is anything told twice, or not at all.
    head = undefined;
    const written = await appendLook(
      client,
      { holder, position: formatPosition(recent.start ?? position), events },
      after,
    );
    if (written === undefined) return false;
    head = written;
    writtenAt = performance.now();
    for (const event of events) told.add(event.watchId, event);
    if (events.length > 0) onEvents(events.map((event, index) => ({ ...event, look: written.look, index })));
    return true;
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
      pauseMs: () => Math.max(everyMs, Math.min(MAX_PAUSE_MS, RESTS * lastMs)),
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

async function filtered<T>(items: readonly T[], isWanted: (item: T) => Promise<boolean>): Promise<T[]> {
  const wanted: T[] = [];
  for (const item of items) if (await isWanted(item)) wanted.push(item);
  return wanted;
}
