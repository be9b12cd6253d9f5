import { setImmediate as nextTurn } from "node:timers/promises";
import type { TableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import { NO_BLOCKS } from "@noisefloor/clickhouse/changes/observation-changes.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  countSightings,
  readSightingsAfter,
  readSightingsBetween,
  readSightingsVersion,
  SIGHTING_TABLES,
  type SightingColumns,
} from "@noisefloor/clickhouse/tags/address-tags.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { HOUR_MS, retentionStart } from "@noisefloor/domain/time/window.ts";
import type { Sighting } from "./sighting-table.ts";
import { createSightings } from "./sightings.ts";

/** The sightings of the global dataset in memory, refreshed by polling ClickHouse for changes. */
export type SightingsCache = {
  /** Undefined when the address was not seen inside the retention window. Call it only while `isCurrent`. */
  find(address: number): Sighting | undefined;
  /** The worst severities of addresses since a time, not before the retention's; with `ATTACKED`. Call it likewise. */
  severitiesOf(addresses: Uint32Array, since: number): Uint8Array;
  /** Calls back with each address that was seen since a time, and its worst severity inside the retention window. */
  visit(from: number, visitor: (address: number, severity: number) => void): Generator<void, void, void>;
  /** Adds a sighting that this process has just stored, so that it shows before the next poll. */
  record(address: number, severity: number, lastSeen: number): void;
  /** Whether it has all that was stored up to a few seconds ago. */
  isCurrent(): boolean;
  /** `too-large`: the sightings exceed the limit, so lookups must query ClickHouse. */
  state(): "loading" | "loaded" | "too-large";
  /** Seconds since it was last up to date; 0 in the state `too-large`. */
  ageSeconds(): number;
  size(): number;
  bytes(): number;
  stop(): Promise<void>;
};

export type SightingsCacheOptions = {
  /** The maximum number of pairs of address and severity in memory. */
  readonly limit: number;
  readonly retentionDays: () => number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly intervalMs?: number;
  /** Asked before each poll: while the tables of sightings are quiet, nothing is read. */
  readonly changes?: TableChanges;
  /** New addresses and tags must show within this time: older content is not current. */
  readonly maxAgeMs?: number;
  /** Called for the first failed poll in a row. */
  readonly onError?: (error: unknown) => void;
  readonly onRecovery?: () => void;
  readonly onLoaded?: (addresses: number, seconds: number) => void;
  readonly onTooLarge?: (limit: number) => void;
};

const POLL_MS = 1_000;
const MAX_AGE_MS = 5_000;
/** After a longer gap everything is loaded again. `observation_changes` has a TTL three times as long. */
const MAX_GAP_MS = 5 * 60_000;
const RETRY_TOO_LARGE_MS = HOUR_MS;
const ROWS_PER_SLICE = 250_000;
const MAX_SLICES = 1_024;
/** Recording blocks the event loop, for longer when tables grow: others get a turn after this many records. */
const RECORDS_PER_TURN = 1_000;

/** Loads all sightings and then polls for changes. Returns immediately, in the state `loading`. */
export function startSightingsCache(client: ClickHouseClient, options: SightingsCacheOptions): SightingsCache {
  const { limit, retentionDays, now, intervalMs = POLL_MS, maxAgeMs = MAX_AGE_MS } = options;
  const sightings = createSightings();
  const readQuiet = options.changes?.(SIGHTING_TABLES);
  const stopping = new AbortController();
  const { signal } = stopping;
  let state: "loading" | "loaded" | "too-large" = "loading";
  let version = "";
  let blocks = NO_BLOCKS;
  let loadedDays = 0;
  let currentAt = performance.now();
  let evictedAt = performance.now();
  let isQuiet = false;

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
    version = await readSightingsVersion(client);
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
    // An insert reaches the tables of its views one after the other: the changes have what the slices may have missed.
    const changes = await readSightingsAfter(client, NO_BLOCKS);
    await recordAll(changes);
    blocks = changes.blocks;
    if (changes.version !== version) return;
    state = "loaded";
    currentAt = start;
    options.onLoaded?.(sightings.size(), (performance.now() - start) / 1_000);
  };
  const readChanges = async () => {
    const start = performance.now();
    const changes = await readSightingsAfter(client, blocks);
    if (changes.version !== version) {
      state = "loading";
      return;
    }
    await recordAll(changes);
    blocks = changes.blocks;
    currentAt = start;
  };
  const evictExpired = async () => {
    evictedAt = performance.now();
    for (const _step of sightings.evict(retentionStart(now(), retentionDays()))) await nextTurn();
  };
  const poll = async () => {
    if (state === "too-large") state = "loading";
    const hasGap = performance.now() - currentAt > MAX_GAP_MS;
    if (state === "loading" || hasGap || retentionDays() > loadedDays || sightings.size() > limit) await load();
    else {
      const quiet = await readQuiet?.();
      isQuiet = quiet?.isQuiet ?? false;
      if (quiet?.isQuiet) currentAt = quiet.askedAt;
      else await readChanges();
    }
    if (performance.now() - evictedAt > HOUR_MS) await evictExpired();
  };
  const pauseMs = (hasFailed: boolean) => {
    if (state === "too-large") return RETRY_TOO_LARGE_MS;
    if (state === "loading" && !hasFailed) return 0;
    return isQuiet ? 2 * intervalMs : intervalMs;
  };
  const { onError = () => {}, onRecovery } = options;
  const polling = repeatEvery(poll, { everyMs: undefined, pauseMs, onError, onRecovery });
  void polling.run();

  return {
    find: (address) => sightings.find(address, retentionStart(now(), retentionDays())),
    severitiesOf: sightings.severitiesOf,
    visit: (from, visitor) => sightings.visit({ from, since: retentionStart(now(), retentionDays()) }, visitor),
    record: sightings.record,
    isCurrent: () => state === "loaded" && performance.now() - currentAt < maxAgeMs,
    state: () => state,
    ageSeconds: () => (state === "too-large" ? 0 : (performance.now() - currentAt) / 1_000),
    size: sightings.size,
    bytes: sightings.bytes,
    async stop() {
      stopping.abort();
      await polling.stop();
    },
  };
}

/** Splits the address space into equal slices, enough to keep the result of each query small. */
function* slices(rows: number): Generator<{ first: number; last: number }> {
  const minCount = Math.ceil(rows / ROWS_PER_SLICE);
  const count = Math.min(MAX_SLICES, 2 ** Math.ceil(Math.log2(Math.max(1, minCount))));
  const width = 2 ** 32 / count;
  for (let slice = 0; slice < count; slice++) yield { first: slice * width, last: (slice + 1) * width - 1 };
}
