import { openTagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { deadLetterRetries } from "@noisefloor/clickhouse/dead-letters/dead-letter-retries.ts";
import {
  countDeadLettersBy,
  type DeadLetterFilter,
} from "@noisefloor/clickhouse/dead-letters/dead-letter-selection.ts";
import { type OpenedDeadLetter, openDeadLetters, openDeadLettersById } from "@noisefloor/ingest/dead-letters/read.ts";
import { type RetryResult, retryDeadLetters } from "@noisefloor/ingest/dead-letters/retry.ts";
import { observationSink } from "@noisefloor/ingest/store/observation-sink.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type OutputOptions, printable } from "../../framework/output.ts";
import { progressBar } from "../../framework/progress.ts";
import { openRows } from "../../rows/row-options.ts";
import { asCommand, closingAfter, openPreparedStore, type Store } from "../../store/store.ts";
import { type FilterOptions, isFilteredBy, readFilter } from "./filter.ts";
import { assertId } from "./list-and-show.ts";

export type RetryOptions = FilterOptions &
  OutputOptions & {
    readonly all: boolean;
    readonly dryRun: boolean;
    readonly overridePermission: boolean;
  };

/** `noisefloor dead-letters retry`. */
export async function runDeadLettersRetry(
  ids: readonly string[],
  options: RetryOptions,
  context: CommandContext,
): Promise<void> {
  const filter = readFilter(options, false, Date.now());
  assertSelection(ids, options);
  const { settings, signal, log } = context;
  const store = await openPreparedStore(settings, options.dryRun ? undefined : asCommand(context));
  await closingAfter(store, async () => {
    const tally = newTally();
    let missing: readonly string[] = [];
    let isComplete = false;
    try {
      if (ids.length > 0) missing = await retryById(store, ids, options, context, tally);
      else await retrySelected(store, filter, options, context, tally);
      isComplete = !signal.aborted;
    } catch (error) {
      // After Ctrl-C the retry fails with what it waited for.
      if (!signal.aborted) throw error;
      log.debug({ err: error }, "interrupted in the middle of a retry");
    } finally {
      printTally(tally, { isComplete, isById: ids.length > 0 }, options, context);
    }
    if (signal.aborted) process.exitCode = 130;
    else if (missing.length > 0) {
      throw new UserError(`there is no dead letter ${missing.join(", ")}: see "noisefloor dead-letters list"`);
    }
  });
}

/** Throws a UserError unless either ids or a selection is given. */
function assertSelection(ids: readonly string[], options: RetryOptions): void {
  const { all, reason } = options;
  const isFiltered = isFilteredBy(options);
  if (ids.length > 0 ? all || isFiltered : !all && reason === undefined) {
    throw new UserError("select dead letters by ids, --reason or --all; the other options narrow the last two");
  }
  ids.forEach(assertId);
}

type Tally = {
  readonly results: RetryResult[];
  stored: number;
  rejected: number;
  alreadyDone: number;
  readonly reasons: Map<string, number>;
  readonly skipped: Map<string, number>;
};

function newTally(): Tally {
  return { results: [], stored: 0, rejected: 0, alreadyDone: 0, reasons: new Map(), skipped: new Map() };
}

const addOne = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);

function count(tally: Tally, result: RetryResult): void {
  if (result.kind === "stored") tally.stored++;
  else if (result.kind === "already-done") tally.alreadyDone++;
  else if (result.kind === "skipped") addOne(tally.skipped, result.why);
  else {
    tally.rejected++;
    addOne(tally.reasons, result.reason);
  }
}

type Retry = (deadLetters: readonly OpenedDeadLetter[]) => Promise<RetryResult[]>;

/** Calls `work` with a function that retries. */
async function withRetry(
  { client, retentionDays }: Store,
  { overridePermission, dryRun }: RetryOptions,
  context: CommandContext,
  work: (retry: Retry) => Promise<void>,
): Promise<void> {
  const { signal } = context;
  const catalogue = await openTagCatalogue(client);
  const making = await openRows(context, client, catalogue, { dryRun });
  try {
    await work((deadLetters) =>
      retryDeadLetters(deadLetters, {
        catalogue,
        retentionDays: () => retentionDays,
        now: Date.now,
        overridePermission,
        dryRun,
        signal,
        sink: observationSink(client, { retryForMs: 60_000, rows: making.rows }),
        writeRetries: (retries) => deadLetterRetries.write(client, retries),
      }),
    );
  } finally {
    making.stop();
    catalogue.stop();
  }
}

/** @returns the ids that no dead letter has. */
async function retryById(
  store: Store,
  ids: readonly string[],
  options: RetryOptions,
  context: CommandContext,
  tally: Tally,
): Promise<string[]> {
  const unseenIds = new Set(ids);
  await withRetry(store, options, context, async (retry) => {
    for await (const deadLetters of openDeadLettersById(store.client, ids)) {
      if (context.signal.aborted) break;
      for (const result of await retry(deadLetters)) {
        unseenIds.delete(result.deadLetter.id);
        count(tally, result);
        tally.results.push(result);
      }
    }
  });
  return [...unseenIds];
}

async function retrySelected(
  store: Store,
  filter: DeadLetterFilter,
  options: RetryOptions,
  context: CommandContext,
  tally: Tally,
): Promise<void> {
  const { settings, signal } = context;
  const counts = await countDeadLettersBy(store.client, filter);
  const total = counts.reduce((sum, one) => sum + one.count, 0);
  const progress = progressBar("Retrying", total, settings.logLevel !== "silent");
  try {
    await withRetry(store, options, context, async (retry) => {
      for await (const deadLetters of openDeadLetters(store.client, filter, progress.advance)) {
        if (signal.aborted) break;
        for (const result of await retry(deadLetters)) count(tally, result);
      }
    });
  } finally {
    progress.end();
  }
}

function printTally(
  tally: Tally,
  { isComplete, isById }: { readonly isComplete: boolean; readonly isById: boolean },
  { dryRun, json }: RetryOptions,
  { print }: CommandContext,
): void {
  const { stored, rejected, alreadyDone, reasons, results } = tally;
  const skipped = [...tally.skipped.values()].reduce((sum, times) => sum + times, 0);
  if (json) {
    const counts = { stored, rejected, reasons: Object.fromEntries(reasons), skipped, already_done: alreadyDone };
    const each = isById
      ? { dead_letters: results.map(({ deadLetter, ...result }) => ({ id: deadLetter.id, ...result })) }
      : {};
    print(JSON.stringify({ dry_run: dryRun, is_complete: isComplete, ...counts, ...each }));
    return;
  }
  if (!isComplete) print("Interrupted: the retry is incomplete.");
  for (const result of results) print(`${result.deadLetter.id}  ${formatResult(result, dryRun)}`);
  if (dryRun) print("Nothing was changed. The results of a retry would be:");
  print(`stored       ${stored}`);
  print(`rejected     ${rejected}`);
  for (const [reason, times] of [...reasons].sort()) print(`  ${reason.padEnd(22)} ${times}`);
  print(`skipped      ${skipped}`);
  for (const [why, times] of tally.skipped) print(`  ${times}: ${why}`);
  if (alreadyDone > 0) print(`already done ${alreadyDone}`);
}

function formatResult(result: RetryResult, dryRun: boolean): string {
  if (result.kind === "stored") return dryRun ? "would be stored" : "stored";
  if (result.kind === "already-done") return "already stored by an earlier retry";
  if (result.kind === "skipped") return `skipped: ${result.why}`;
  return `rejected: ${result.reason}: ${printable(result.detail)}`;
}
