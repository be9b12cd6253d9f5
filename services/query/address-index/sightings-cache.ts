import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import {
  countSightings,
  readSightingsAfter,
  readSightingsBetween,
  type SightingColumns,
} from "@noisefloor/clickhouse/tables/address-tags.ts";
import { HOUR_MS, retentionStart } from "@noisefloor/domain/window.ts";
import { createSightings, type Sighting } from "./sightings.ts";

/** The sightings of the global dataset as the store holds them, in memory. */
export type SightingsCache = {
  /** Undefined when the address was not seen inside the retention window. To be asked while `isCurrent`. */
  find(address: number): Sighting | undefined;
  /** Adds what this process has just stored, which then shows at once. */
  record(address: number, severity: number, lastSeen: number): void;
  /** Whether it holds everything that was stored up to a few seconds ago. */
  isCurrent(): boolean;
  /** `too-large`: the store holds more than the limit, and ClickHouse has to be asked. */
  state(): "loading" | "loaded" | "too-large";
  /** Seconds since it was last known to be up to date; 0 when the store is too large for it. */
  ageSeconds(): number;
  size(): number;
  bytes(): number;
  stop(): Promise<void>;
};

export type SightingsCacheOptions = {
  /** The most pairs of address and severity that are kept in memory. */
  readonly limit: number;
  readonly retentionDays: () => number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly intervalMs?: number;
  /** Older content is not answered from: a tag or an address that is new must show within this time. */
  readonly maxAgeMs?: number;
  /** Called once with why the store could not be read, until it can be again. */
  readonly onError?: (error: unknown) => void;
  readonly onRecovery?: () => void;
  readonly onLoaded?: (addresses: number, seconds: number) => void;
  readonly onTooLarge?: (limit: number) => void;
};

const MAX_AGE_MS = 5_000;
/** `address_changes` keeps its rows three times as long. After a longer pause everything is read anew. */
const MAX_PAUSE_MS = 5 * 60_000;
const RETRY_TOO_LARGE_MS = HOUR_MS;
const ROWS_PER_SLICE = 250_000;
const MAX_SLICES = 1_024;
/** So many are recorded before other work gets its turn: about two milliseconds. */
const RECORDS_PER_TURN = 4_000;

/** Reads all sightings and then, every second, what has been added. Returns at once; what it holds is loaded later. */
export function startSightingsCache(client: ClickHouseClient, options: SightingsCacheOptions): SightingsCache {
  const { limit, retentionDays, now, intervalMs = 1_000, maxAgeMs = MAX_AGE_MS } = options;
  const sightings = createSightings();
  const stopping = new AbortController();
  const { signal } = stopping;
  let state: "loading" | "loaded" | "too-large" = "loading";
  let version = "";
  let lastBlock = 0;
  let loadedDays = 0;
  let currentAt = performance.now();
  let evictedAt = performance.now();

  const recordAll = async ({ addresses, severities, seconds, milliseconds }: SightingColumns) => {
    for (let index = 0; index < addresses.length; index++) {
      const lastSeen = (seconds[index] ?? 0) * 1_000 + (milliseconds[index] ?? 0);
      sightings.record(addresses[index] ?? 0, severities[index] ?? 0, lastSeen);
      if (index % RECORDS_PER_TURN === RECORDS_PER_TURN - 1) await nextTurn();
    }
  };
  const load = async () => {
    state = "loading";
    sightings.clear();
    const start = performance.now();
    loadedDays = retentionDays();
    const since = retentionStart(now(), loadedDays);
    ({ version } = await readSightingsAfter(client, Number.MAX_SAFE_INTEGER));
    for (const { first, last } of slices(await countSightings(client))) {
      await recordAll(await readSightingsBetween(client, { first, last, since }));
      if (signal.aborted) return;
      if (sightings.size() > limit) {
        state = "too-large";
        sightings.clear();
        options.onTooLarge?.(limit);
        return;
      }
    }
    // A view's tables get an insert's rows one after the other: what the slices may have missed is among the changes.
    const changes = await readSightingsAfter(client, 0);
    await recordAll(changes);
    lastBlock = changes.lastBlock;
    if (changes.version !== version) return;
    state = "loaded";
    currentAt = start;
    options.onLoaded?.(sightings.size(), (performance.now() - start) / 1_000);
  };
  const readOn = async () => {
    const start = performance.now();
    const changes = await readSightingsAfter(client, lastBlock);
    if (changes.version !== version) {
      state = "loading";
      return;
    }
    await recordAll(changes);
    lastBlock = Math.max(lastBlock, changes.lastBlock);
    currentAt = start;
  };
  const evictOld = async () => {
    evictedAt = performance.now();
    for (const _step of sightings.evict(retentionStart(now(), retentionDays()))) await nextTurn();
  };
  const step = async () => {
    const hasPaused = performance.now() - currentAt > MAX_PAUSE_MS;
    if (state === "loading" || hasPaused || retentionDays() > loadedDays || sightings.size() > limit) await load();
    else await readOn();
    if (performance.now() - evictedAt > HOUR_MS) await evictOld();
  };
  const follow = async () => {
    let isFailing = false;
    while (!signal.aborted) {
      try {
        await step();
        if (isFailing) options.onRecovery?.();
        isFailing = false;
      } catch (error) {
        if (!isFailing && !signal.aborted) options.onError?.(error);
        isFailing = true;
      }
      const isWaitingForTags = state === "loading" && !isFailing;
      const pause = state === "too-large" ? RETRY_TOO_LARGE_MS : isWaitingForTags ? 0 : intervalMs;
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      if (state === "too-large") state = "loading";
    }
  };
  const followed = follow();

  return {
    find: (address) => sightings.find(address, retentionStart(now(), retentionDays())),
    record: sightings.record,
    isCurrent: () => state === "loaded" && performance.now() - currentAt < maxAgeMs,
    state: () => state,
    ageSeconds: () => (state === "too-large" ? 0 : (performance.now() - currentAt) / 1_000),
    size: sightings.size,
    bytes: sightings.bytes,
    async stop() {
      stopping.abort();
      await followed;
    },
  };
}

/** Equal parts of the address space, so many that each is a small answer even where addresses are dense. */
function* slices(rows: number): Generator<{ first: number; last: number }> {
  const wanted = Math.ceil(rows / ROWS_PER_SLICE);
  const count = Math.min(MAX_SLICES, 2 ** Math.ceil(Math.log2(Math.max(1, wanted))));
  const width = 2 ** 32 / count;
  for (let slice = 0; slice < count; slice++) yield { first: slice * width, last: (slice + 1) * width - 1 };
}
