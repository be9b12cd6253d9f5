import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  type FoundColumns,
  readRows,
  readStoredMonths,
  rewriteRows,
  type StoredRow,
} from "@noisefloor/clickhouse/observations/rewrite-observations.ts";
import { renewStaleRollups } from "@noisefloor/clickhouse/rollups/renew-stale.ts";
import type { TimeRange } from "@noisefloor/clickhouse/rollups/replace.ts";
import { markRollupsStale } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { createDecide, type Decide, type Decision, type RulesInUse } from "./decide.ts";

export type ReapplyOptions = {
  readonly rules: RulesInUse;
  /** Which observations, by when they were seen. */
  readonly times: TimeRange;
  /** Counts what would change, and changes nothing. */
  readonly dryRun: boolean;
  readonly now: () => number;
  /** Called when another part of the work is done. */
  readonly onProgress?: (step: "observations" | "rollups", done: number, total: number) => void;
  /** Throws while the store must not grow. */
  readonly assertSpace?: () => void;
  readonly signal?: AbortSignal | undefined;
};

/** How many observations a tag came to, and from how many it went. */
export type TagChange = { added: number; removed: number };

export type ReapplySummary = {
  readonly observations: number;
  readonly changed: number;
  /** Observations that got callbacks. */
  readonly callbacks: number;
  /** By the tag's id. */
  readonly tags: ReadonlyMap<string, TagChange>;
  /** Observations that kept a tag whose rule looks at what is not stored: the rest of a body, or how a session began. */
  readonly keptForBody: number;
  readonly keptForSession: number;
  /** Rows that do not fit the wire schema; they stay as they are. */
  readonly unreadable: number;
  readonly rollups: "current" | "replaced" | "would be replaced";
  readonly isComplete: boolean;
};

type Tally = { -readonly [Member in Exclude<keyof ReapplySummary, "rollups" | "isComplete" | "tags">]: number } & {
  readonly tags: Map<string, TagChange>;
};

/** The server says when a row was received, by a clock of its own. */
const CLOCK_DIFFERENCE_MS = 60_000;

/**
 * Gives stored observations the tags of the rules as they are now, and callbacks to those without any. Rows are stored
 * again where these differ; when
 * one has lost a tag, the rollups of those times are made anew. Interrupted, the same call again does what is left.
 */
export async function reapplyRules(client: ClickHouseClient, options: ReapplyOptions): Promise<ReapplySummary> {
  const { dryRun, signal, onProgress = () => {}, now } = options;
  const tally = newTally();
  const began = now() - CLOCK_DIFFERENCE_MS;
  const lost = { isMarked: false };
  const isRead = await reapplyRows(client, options, 0, tally, lost);
  // A session that the intake was storing again meanwhile has the tags that it had before.
  const isWhole = isRead && (dryRun || (await reapplyRows(client, options, began, newTally(), lost)));
  const summary = { ...tally, rollups: "current" as const, isComplete: false };
  if (!isWhole || signal?.aborted) return summary;
  if (dryRun) {
    const removes = [...tally.tags.values()].some(({ removed }) => removed > 0);
    return { ...summary, rollups: removes ? "would be replaced" : "current", isComplete: true };
  }
  const show = (done: number, total: number) => onProgress("rollups", done, total);
  const rollups = await renewStaleRollups(client, { signal, onProgress: show });
  return rollups === "aborted" ? summary : { ...summary, rollups, isComplete: true };
}

const newTally = (): Tally => ({
  observations: 0,
  changed: 0,
  callbacks: 0,
  tags: new Map(),
  keptForBody: 0,
  keptForSession: 0,
  unreadable: 0,
});

/** @returns whether all rows were looked at; false when it was aborted. */
async function reapplyRows(
  client: ClickHouseClient,
  { rules, times, dryRun, signal, onProgress = () => {}, assertSpace = () => {} }: ReapplyOptions,
  receivedFrom: number,
  tally: Tally,
  lost: { isMarked: boolean },
): Promise<boolean> {
  const decide = createDecide(rules);
  const months = (await readStoredMonths(client)).filter(({ from, to }) => from < times.to && to > times.from);
  const total = months.reduce((sum, { rows }) => sum + rows, 0);
  let before = 0;
  for (const { from, to, rows } of months) {
    const range = { from: Math.max(from, times.from), to: Math.min(to, times.to), receivedFrom };
    let done = 0;
    for await (const { rows: page, reread } of readRows(client, range)) {
      const { changes, removes } = decidePage(page, decide, tally);
      if (!dryRun && changes.length > 0) {
        assertSpace();
        if (removes && !lost.isMarked) {
          await markRollupsStale(client, times);
          lost.isMarked = true;
        }
        await rewriteRows(client, changes, reread);
      }
      done += page.length;
      onProgress("observations", before + Math.min(done, rows), total);
      if (signal?.aborted) return false;
    }
    before += rows;
  }
  return true;
}

function decidePage(page: readonly StoredRow[], decide: Decide, tally: Tally) {
  const changes: { row: StoredRow; found: FoundColumns }[] = [];
  let removes = false;
  for (const row of page) {
    tally.observations++;
    const decision = decide(row);
    if (decision === undefined) {
      tally.unreadable++;
      continue;
    }
    count(decision, tally);
    if (decision.removed.length > 0) removes = true;
    if (decision.addsCallbacks) tally.callbacks++;
    if (decision.found !== undefined) changes.push({ row, found: decision.found });
  }
  tally.changed += changes.length;
  return { changes, removes };
}

function count({ added, removed, keptForBody, keptForSession }: Decision, tally: Tally): void {
  const changeOf = (id: string) => {
    const known = tally.tags.get(id) ?? { added: 0, removed: 0 };
    tally.tags.set(id, known);
    return known;
  };
  for (const id of added) changeOf(id).added++;
  for (const id of removed) changeOf(id).removed++;
  if (keptForBody.length > 0) tally.keptForBody++;
  if (keptForSession.length > 0) tally.keptForSession++;
}
