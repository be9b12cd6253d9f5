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
  /** Called when a field does not fit, which is not tried again for an hour. */
  readonly onTooLarge?: (tooLarge: { readonly field: string; readonly members: number }) => void;
};

type IndexedDataset = FieldOfDataset["dataset"];
/** Datasets whose rows have no workspace: the others would be many small ones. */
const DATASETS = ["global", "community"] as const satisfies readonly IndexedDataset[];

const POLL_MS = 1_000;
const MAX_AGE_MS = 5_000;
/** After a longer gap everything is loaded again: the log of what was stored has a TTL three times as long. */
const MAX_GAP_MS = 5 * 60_000;
/** Without a search for this long, the memory is given back. */
const IDLE_MS = HOUR_MS;
const RETRY_TOO_LARGE_MS = HOUR_MS;
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

type LoadedFacet = { readonly of: FieldOfDataset; readonly facet: Facet };
type Wanted = { readonly of: FieldOfDataset; usedAt: number; tooLargeAt: number };

/** Fields in memory, all of the same state of the store. */
type Loaded = {
  readonly ordinals: Ordinals;
  readonly epoch: number;
  readonly retentionDays: number;
  readonly version: string;
  readonly facets: Map<string, LoadedFacet>;
  /** Loaded since the last poll, from which on they are of the same state as the others. */
  readonly joining: Map<string, LoadedFacet>;
  blocks: KnownBlocks;
  /** Changes with each poll that brings something. */
  revision: number;
};

/** Starts with nothing in memory: the first searches load what they need. */
export function startFacetIndex(client: ClickHouseClient, options: FacetIndexOptions): FacetIndex {
  const { maxBytes, retentionDays, now, intervalMs = POLL_MS, maxAgeMs = MAX_AGE_MS } = options;
  const readQuiet = options.changes?.(FACET_TABLES);
  const facetBits = new FacetBits(maxBytes * SHARE_OF_BITS);
  const wanted = new Map<string, Wanted>();
  let loaded: Loaded | undefined;
  let currentAt = performance.now();
  let usedAt = Number.NEGATIVE_INFINITY;

  const facets = () => [...(loaded?.facets.values() ?? []), ...(loaded?.joining.values() ?? [])];
  const bytes = () =>
    facets().reduce((sum, { facet }) => sum + facet.bytes, facetBits.bytes + (loaded?.ordinals.bytes() ?? 0));
  const clear = () => {
    loaded = undefined;
    facetBits.clear();
  };
  const isTooLarge = ({ tooLargeAt }: Wanted) => performance.now() - tooLargeAt < RETRY_TOO_LARGE_MS;
  const missing = () => {
    const all = [...wanted.values()];
    // Without all addresses, nothing can be evaluated.
    if (all.some((field) => field.of.field === "seen" && isTooLarge(field))) return undefined;
    const of = all.filter((field) => !isTooLarge(field));
    return of.find(({ of }) => loaded?.facets.has(nameOf(of)) !== true && loaded?.joining.has(nameOf(of)) !== true);
  };

  const loadOrdinals = async () => {
    clear();
    const start = performance.now();
    const days = retentionDays();
    const since = retentionStart(now(), days);
    const version = await readFacetsVersion(client);
    const ordinals = new Ordinals(await readSeenAddresses(client, DATASETS, since));
    const epoch = now() - EPOCH_DAYS * DAY_MS;
    loaded = {
      ...{ ordinals, epoch, version, retentionDays: days, blocks: NO_BLOCKS, revision: 0 },
      facets: new Map(),
      joining: new Map(),
    };
    currentAt = start;
  };
  /** Frees memory for a field by fields that were not used as lately. @returns whether it fits. */
  const evictFor = (needed: number, state: Loaded): boolean => {
    const others = [...wanted].filter(([, { of }]) => of.field !== "seen");
    const byUse = others.sort(([, one], [, other]) => one.usedAt - other.usedAt);
    for (const [name] of byUse) {
      if (bytes() + needed <= maxBytes) break;
      if (state.facets.delete(name)) wanted.delete(name);
    }
    return bytes() + needed <= maxBytes;
  };
  const loadField = async (state: Loaded, field: Wanted) => {
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
    // An insert reaches the tables of its views one after the other: the log has what the table did not have yet.
    if (state.blocks !== NO_BLOCKS) {
      const changes = await readFacetChanges(client, {
        fields: [field.of.field],
        epoch: state.epoch,
        blocks: NO_BLOCKS,
      });
      if (changes.version !== state.version) return clear();
      for (const add of await prepareChanges(changes, (other) => (other === name ? facet : undefined), state.ordinals))
        add();
    }
    state.joining.set(name, { of: field.of, facet });
    options.onLoaded?.({ field: name, members, seconds: (performance.now() - start) / 1_000 });
  };
  const readChanges = async (state: Loaded) => {
    const start = performance.now();
    const fields = [...new Set(facets().map(({ of }) => of.field))];
    const changes = await readFacetChanges(client, { fields, epoch: state.epoch, blocks: state.blocks });
    if (changes.version !== state.version) return clear();
    const facetOf = (name: string) => (state.facets.get(name) ?? state.joining.get(name))?.facet;
    const additions = await prepareChanges(changes, facetOf, state.ordinals);
    // Together, in one turn: a search between two of them would find addresses that never matched it.
    for (const add of additions) add();
    if (additions.length > 0) state.revision++;
    for (const [name, facet] of state.joining) state.facets.set(name, facet);
    state.joining.clear();
    state.blocks = changes.blocks;
    currentAt = start;
    for (const { facet } of facets()) await facet.mergeLayers();
  };
  const isOutdated = ({ ordinals, retentionDays: days }: Loaded) => {
    const later = ordinals.size - ordinals.inOrder;
    const hasGap = performance.now() - currentAt > MAX_GAP_MS;
    return hasGap || retentionDays() > days || later > Math.max(MIN_LATER, ordinals.inOrder * MAX_LATER_SHARE);
  };
  const poll = async () => {
    if (performance.now() - usedAt > IDLE_MS) {
      wanted.clear();
      return clear();
    }
    if (loaded === undefined || isOutdated(loaded)) {
      if (missing() === undefined && loaded === undefined) return;
      await loadOrdinals();
    }
    const state = loaded;
    if (state === undefined) return;
    const next = missing();
    if (next !== undefined) await loadField(state, next);
    if (loaded !== state || (state.facets.size === 0 && state.joining.size === 0)) return;
    const quiet = state.joining.size > 0 ? undefined : await readQuiet?.();
    if (quiet?.isQuiet) currentAt = quiet.askedAt;
    else await readChanges(state);
    for (const [name, { facet }] of state.facets) if (facet.addedShare > MAX_ADDED_SHARE) state.facets.delete(name);
  };
  const { onError = () => {}, onRecovery } = options;
  const pauseMs = (hasFailed: boolean) => (!hasFailed && missing() !== undefined ? 0 : intervalMs);
  const polling = repeatEvery(poll, { everyMs: undefined, pauseMs, onError, onRecovery });
  void polling.run();

  const want = (of: FieldOfDataset) => {
    const name = nameOf(of);
    const field = wanted.get(name) ?? { of, usedAt: 0, tooLargeAt: Number.NEGATIVE_INFINITY };
    field.usedAt = usedAt;
    wanted.set(name, field);
  };
  return {
    open(fields, scopes) {
      const datasets = scopes.flatMap(({ dataset }) => DATASETS.find((indexed) => indexed === dataset) ?? []);
      if (datasets.length < scopes.length || datasets.length === 0) return undefined;
      usedAt = performance.now();
      const asked = new Set<MemberField>(["seen", ...fields]);
      for (const field of asked) for (const dataset of datasets) want({ dataset, field });
      const state = loaded;
      const age = performance.now() - currentAt;
      const isMissing = [...asked].some((field) =>
        datasets.some((dataset) => !state?.facets.has(nameOf({ dataset, field }))),
      );
      if (state === undefined || isMissing || age > maxAgeMs) {
        // Its first search after a pause need not wait for the next poll.
        if (state === undefined || age > intervalMs) void polling.run();
        return undefined;
      }
      const { ordinals, epoch, revision } = state;
      const facetOf = (name: string): readonly NamedFacet[] => {
        const { facet } = state.facets.get(name) ?? {};
        return facet === undefined ? [] : [{ name, facet }];
      };
      return {
        ...{ ordinals, epoch, facetBits },
        facetsOf: (field) => datasets.flatMap((dataset) => facetOf(nameOf({ dataset, field }))),
        isCurrent: () => loaded === state && state.revision === revision,
      };
    },
    bytes,
    members: () => facets().reduce((sum, { facet }) => sum + facet.members, 0),
    ageSeconds: () => (loaded === undefined ? 0 : (performance.now() - currentAt) / 1_000),
    async stop() {
      await polling.stop();
      clear();
    },
  };
}

const nameOf = ({ dataset, field }: FieldOfDataset) => `${dataset} ${field}`;
