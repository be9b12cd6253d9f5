import type { TableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import { FACET_TABLES, readFacetChanges, readFacetsVersion } from "@noisefloor/clickhouse/changes/facet-changes.ts";
import { type KnownBlocks, NO_BLOCKS } from "@noisefloor/clickhouse/changes/observation-changes.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  countMembers,
  type FieldOfDataset,
  type MemberField,
  readSeenAddresses,
} from "@noisefloor/clickhouse/facets/facet-members.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import { DAY_MS, HOUR_MS, retentionStart } from "@noisefloor/domain/time/window.ts";
import type { Facet } from "./facet.ts";
import { FacetBits, type NamedFacet } from "./facet-bits.ts";
import { loadFacet, prepareChanges } from "./load-facet.ts";
import { Ordinals } from "./ordinals.ts";

/** The facets of addresses in memory, of those fields that searches ask for, refreshed by polling ClickHouse. */
export type FacetIndex = {
  /**
   * What a search is evaluated over; undefined while it is not in memory, or not up to date: then the store answers, and
   * the fields are loaded if they fit.
   */
  open(fields: Iterable<MemberField>, scopes: readonly Scope[]): OpenFacets | undefined;
  bytes(): number;
  /** How many members are in memory. */
  members(): number;
  /** Seconds since it was last up to date; 0 while nothing is in memory. */
  ageSeconds(): number;
  stop(): Promise<void>;
};

export type OpenFacets = {
  readonly ordinals: Ordinals;
  readonly facetBits: FacetBits;
  /** Milliseconds since 1970 UTC: the times of the index count from here. */
  readonly epoch: number;
  facetsOf(field: MemberField): readonly NamedFacet[];
  /** Whether what was read of it since it was opened is of one state of the store, and up to date. */
  isCurrent(): boolean;
};

export type FacetIndexOptions = {
  /** Bytes that it may take. */
  readonly maxBytes: number;
  readonly retentionDays: () => number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly intervalMs?: number;
  /** Asked before each poll: while the tables are quiet, nothing is read. */
  readonly changes?: TableChanges;
  /** What was stored must show within this time: older content is not current. */
  readonly maxAgeMs?: number;
  /** Called for the first failed poll in a row. */
  readonly onError?: (error: unknown) => void;
  readonly onRecovery?: () => void;
  readonly onLoaded?: (loaded: { readonly field: string; readonly members: number; readonly seconds: number }) => void;
  /** Called when a field does not fit, which is not tried again for some minutes. */
  readonly onTooLarge?: (tooLarge: { readonly field: string; readonly members: number }) => void;
};

type IndexedDataset = FieldOfDataset["dataset"];
/** Datasets whose rows have no workspace: the others would be many small ones. */
const DATASETS = ["global", "community"] as const satisfies readonly IndexedDataset[];

const POLL_MS = 1_000;
const MAX_AGE_MS = 5_000;
/** After a longer gap everything is loaded again: the log of what was stored has a TTL three times as long. */
const MAX_GAP_MS = 5 * 60_000;
/** An insert has reached the tables of all its views within this time: its sender does not wait as long. */
const MAX_INSERT_MS = 2 * 60_000;
/** Without a search for this long, the memory is given back. */
const IDLE_MS = HOUR_MS;
/** Fields that were used since are not dropped for others: two that do not fit together would take turns. */
const IN_USE_MS = 10 * 60_000;
const RETRY_TOO_LARGE_MS = IN_USE_MS;
/** Bytes of a member, and about what its value takes. */
const BYTES_PER_MEMBER = 12;
/** The part of the memory for bits of sets. */
const SHARE_OF_BITS = 1 / 4;
/** With more addresses out of order, or more members added, what is in memory is loaded again, in order and once each. */
const MAX_ADDED_SHARE = 1 / 2;
const MIN_LATER = 50_000;
const MAX_LATER_SHARE = 1 / 8;
/** Times of observations lie within the retention, of 100 days at most, and hardly in the future. */
const EPOCH_DAYS = 365;

type FieldUse = { readonly of: FieldOfDataset; usedAt: number; tooLargeAt: number };
type LoadedFacet = {
  readonly of: FieldOfDataset;
  readonly facet: Facet;
  /** When its load began, in milliseconds of `performance.now()`. */
  readonly since: number;
  /** `loaded` by what its table had; `joining` with what the log had, too; `ready` is of the state of all that are. */
  stage: "loaded" | "joining" | "ready";
};

/** Fields in memory. */
type Loaded = {
  readonly ordinals: Ordinals;
  readonly facetBits: FacetBits;
  readonly epoch: number;
  readonly retentionDays: number;
  readonly version: string;
  /** When its load began, in milliseconds of `performance.now()`. */
  readonly since: number;
  readonly facets: Map<string, LoadedFacet>;
  blocks: KnownBlocks;
  /** Changes when a field comes, gets members or goes. */
  revision: number;
};

/** Starts with nothing in memory: the first searches load what they need. */
export function startFacetIndex(client: ClickHouseClient, options: FacetIndexOptions): FacetIndex {
  const { maxBytes, retentionDays, now, intervalMs = POLL_MS, maxAgeMs = MAX_AGE_MS } = options;
  const readQuiet = options.changes?.(FACET_TABLES);
  const uses = new Map<string, FieldUse>();
  const shareLoading = createSingleFlight<"load", void>();
  let loaded: Loaded | undefined;
  let loadError: unknown;
  let currentAt = performance.now();
  let usedAt = Number.NEGATIVE_INFINITY;
  let isStopped = false;

  const facets = () => [...(loaded?.facets.values() ?? [])];
  const bytes = () => {
    const others = (loaded?.ordinals.bytes() ?? 0) + (loaded?.facetBits.bytes ?? 0);
    return facets().reduce((sum, { facet }) => sum + facet.bytes, others);
  };
  const clear = () => {
    loaded = undefined;
  };
  const drop = (state: Loaded, name: string) => {
    if (state.facets.delete(name)) state.revision++;
  };
  const isTooLarge = ({ tooLargeAt }: FieldUse) => performance.now() - tooLargeAt < RETRY_TOO_LARGE_MS;
  const fieldToLoad = () => {
    const all = [...uses.values()];
    // Without all addresses, nothing can be evaluated.
    if (all.some((field) => field.of.field === "seen" && isTooLarge(field))) return undefined;
    return all.find((field) => !isTooLarge(field) && loaded?.facets.has(nameOf(field.of)) !== true);
  };

  const loadOrdinals = async () => {
    clear();
    const start = performance.now();
    const days = retentionDays();
    const since = retentionStart(now(), days);
    const version = await readFacetsVersion(client);
    const ordinals = new Ordinals(await readSeenAddresses(client, DATASETS, since));
    loaded = {
      ...{ ordinals, version, since: start, retentionDays: days, blocks: NO_BLOCKS, revision: 0, facets: new Map() },
      facetBits: new FacetBits(maxBytes * SHARE_OF_BITS),
      epoch: now() - EPOCH_DAYS * DAY_MS,
    };
    currentAt = start;
  };
  /** Frees memory for a field by fields that were not used as lately. @returns whether it fits. */
  const evictFor = (needed: number, state: Loaded): boolean => {
    const isUnused = ({ of, usedAt: last }: FieldUse) => of.field !== "seen" && performance.now() - last > IN_USE_MS;
    const others = [...uses].filter(([name, field]) => isUnused(field) && state.facets.has(name));
    for (const [name] of others.sort(([, one], [, other]) => one.usedAt - other.usedAt)) {
      if (bytes() + needed <= maxBytes) break;
      drop(state, name);
      uses.delete(name);
    }
    return bytes() + needed <= maxBytes;
  };
  const loadField = async (state: Loaded, field: FieldUse) => {
    const name = nameOf(field.of);
    const start = performance.now();
    const since = retentionStart(now(), state.retentionDays);
    const members = await countMembers(client, field.of, since);
    if (!evictFor(members * BYTES_PER_MEMBER, state)) {
      field.tooLargeAt = performance.now();
      options.onTooLarge?.({ field: name, members });
      if (field.of.field === "seen") clear();
      return;
    }
    const facet = await loadFacet(client, field.of, { since, epoch: state.epoch }, state.ordinals);
    state.facets.set(name, { of: field.of, facet, since: start, stage: "loaded" });
    options.onLoaded?.({ field: name, members, seconds: (performance.now() - start) / 1_000 });
    void polling.run();
  };
  /** Loads what searches asked for, one field after the other, while polls go on. */
  const loadMissing = async (state: Loaded) => {
    for (let next = fieldToLoad(); next !== undefined; next = fieldToLoad()) {
      if (isStopped || loaded !== state) return;
      await loadField(state, next);
    }
  };

  /** Adds what the log has of some facets in blocks that were not read. @returns undefined when the tables are others. */
  const readLog = async (
    state: Loaded,
    of: ReadonlyMap<string, LoadedFacet>,
    blocksRead: KnownBlocks,
    since: number,
  ) => {
    const fields = [...new Set([...of.values()].map((one) => one.of.field))];
    const seconds = (performance.now() - since + MAX_INSERT_MS) / 1_000;
    const { version, blocks, ...changes } = await readFacetChanges(client, {
      ...{ fields, seconds },
      epoch: state.epoch,
      blocks: blocksRead,
    });
    if (version !== state.version) return clear();
    const additions = await prepareChanges(changes, (name) => of.get(name)?.facet, state.ordinals);
    // Together, in one turn: a search between two of them would find addresses that never matched it.
    for (const add of additions) add();
    if (additions.length > 0) state.revision++;
    return blocks;
  };
  const readChanges = async (state: Loaded) => {
    const start = performance.now();
    // An insert reaches the tables of its views one after the other: the log has what a table did not have yet.
    const arrived = new Map([...state.facets].filter(([, { stage }]) => stage === "loaded"));
    const firstLoad = Math.min(...[...arrived.values()].map(({ since }) => since));
    if (arrived.size > 0 && state.blocks !== NO_BLOCKS && !(await readLog(state, arrived, NO_BLOCKS, firstLoad)))
      return;
    for (const field of arrived.values()) field.stage = "joining";
    const current = new Map([...state.facets].filter(([, { stage }]) => stage !== "loaded"));
    if (current.size === 0) return;
    const blocks = await readLog(state, current, state.blocks, state.since);
    if (blocks === undefined) return;
    for (const field of current.values()) field.stage = "ready";
    state.blocks = blocks;
    currentAt = start;
    for (const { facet } of current.values()) await facet.mergeLayers();
    for (const [name, { facet }] of current) if (facet.addedShare > MAX_ADDED_SHARE) drop(state, name);
  };
  const isOutdated = ({ ordinals, retentionDays: days }: Loaded) => {
    const later = ordinals.size - ordinals.inOrder;
    const hasGap = performance.now() - currentAt > MAX_GAP_MS;
    return hasGap || retentionDays() > days || later > Math.max(MIN_LATER, ordinals.inOrder * MAX_LATER_SHARE);
  };
  const poll = async () => {
    if (performance.now() - usedAt > IDLE_MS) {
      uses.clear();
      return clear();
    }
    if (loadError !== undefined) {
      const error = loadError;
      loadError = undefined;
      throw error;
    }
    if (loaded === undefined ? fieldToLoad() !== undefined : isOutdated(loaded)) await loadOrdinals();
    const state = loaded;
    if (state === undefined) return;
    if (fieldToLoad() !== undefined) {
      shareLoading("load", () => loadMissing(state)).catch((error: unknown) => {
        loadError = error;
      });
    }
    if (state.facets.size === 0) return;
    const isReady = facets().every(({ stage }) => stage === "ready");
    const quiet = isReady ? await readQuiet?.() : undefined;
    if (quiet?.isQuiet) currentAt = quiet.askedAt;
    else await readChanges(state);
  };
  const { onError = () => {}, onRecovery } = options;
  const polling = repeatEvery(poll, { everyMs: undefined, pauseMs: () => intervalMs, onError, onRecovery });
  void polling.run();

  const noteUse = (of: FieldOfDataset) => {
    const name = nameOf(of);
    const field = uses.get(name) ?? { of, usedAt: 0, tooLargeAt: Number.NEGATIVE_INFINITY };
    field.usedAt = usedAt;
    uses.set(name, field);
  };
  return {
    open(fields, scopes) {
      const datasets = scopes.flatMap(({ dataset }) => DATASETS.find((indexed) => indexed === dataset) ?? []);
      if (datasets.length < scopes.length || datasets.length === 0) return undefined;
      usedAt = performance.now();
      const asked = new Set<MemberField>(["seen", ...fields]);
      for (const field of asked) for (const dataset of datasets) noteUse({ dataset, field });
      const state = loaded;
      const age = performance.now() - currentAt;
      const facetOf = (of: FieldOfDataset): readonly NamedFacet[] => {
        const name = nameOf(of);
        const field = state?.facets.get(name);
        return field?.stage === "ready" ? [{ name, facet: field.facet }] : [];
      };
      const isMissing = [...asked].some((field) =>
        datasets.some((dataset) => facetOf({ dataset, field }).length === 0),
      );
      if (state === undefined || isMissing || age > maxAgeMs) {
        // The first search after a pause need not wait for the next poll.
        if (fieldToLoad() !== undefined || age > intervalMs) void polling.run();
        return undefined;
      }
      const { ordinals, epoch, facetBits, revision } = state;
      return {
        ...{ ordinals, epoch, facetBits },
        facetsOf: (field) => datasets.flatMap((dataset) => facetOf({ dataset, field })),
        isCurrent: () => loaded === state && state.revision === revision,
      };
    },
    bytes,
    members: () => facets().reduce((sum, { facet }) => sum + facet.members, 0),
    ageSeconds: () => (loaded === undefined ? 0 : (performance.now() - currentAt) / 1_000),
    async stop() {
      isStopped = true;
      await polling.stop();
      await shareLoading.settled();
      clear();
    },
  };
}

const nameOf = ({ dataset, field }: FieldOfDataset) => `${dataset} ${field}`;
