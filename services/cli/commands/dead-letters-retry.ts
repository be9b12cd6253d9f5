import { writeVerdicts } from "@noisefloor/clickhouse/tables/dead-letter-verdicts.ts";
import { countLetterRows } from "@noisefloor/clickhouse/tables/dead-letters.ts";
import { watchTags } from "@noisefloor/clickhouse/tag-catalogue.ts";
import { insertQueue } from "@noisefloor/ingest/insert-queue.ts";
import { isHomeMeant, isMeant, type LetterFilter, type OpenedLetter } from "@noisefloor/ingest/letters/letter.ts";
import { type RetryOutcome, retryLetters } from "@noisefloor/ingest/letters/retry.ts";
import { openTableLetters, openTableLettersById } from "@noisefloor/ingest/letters/table-letters.ts";
import { isTopicId } from "@noisefloor/ingest/letters/topic-letters.ts";
import { acceptInto } from "@noisefloor/ingest/pipeline.ts";
import { insertInto } from "@noisefloor/ingest/writer.ts";
import { type FilterOptions, isTopicRead, readFilter, readTopic } from "../dead-letter-homes.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import { type OutputOptions, printable } from "../framework/output.ts";
import { progressBar } from "../framework/progress.ts";
import { closingAfter, openStore, openStoreAsItIs, type Store } from "../store.ts";
import { requireId } from "./dead-letters.ts";

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
  const { reason, source, since } = options;
  const isFiltered = reason !== undefined || source !== undefined || since !== undefined;
  if (ids.length > 0 ? options.all || isFiltered : !options.all && reason === undefined) {
    throw new UserError("say which ones: ids, or --reason, or --all; --source and --since narrow the last two");
  }
  for (const id of ids) requireId(id, context);
  const topicRead = ids.length > 0 ? ids.some(isTopicId) : isTopicRead(filter, context);
  const { settings } = context;
  const store = options.dryRun ? await openStoreAsItIs(settings) : await openStore(context, "lengthen");
  await closingAfter(store, async () => {
    const { signal } = context;
    const tally = newTally();
    let missing: readonly string[] = [];
    let isWhole = false;
    try {
      if (ids.length > 0) missing = await retryById(store, ids, options, context, tally);
      else await retryMeant(store, { filter, topicRead }, options, context, tally);
      isWhole = !signal.aborted;
    } catch (error) {
      // A store that is not waited for any more has failed for whoever waited.
      if (!signal.aborted) throw error;
      context.log.debug({ err: error }, "stopped in the middle of a retry");
    } finally {
      printTally(tally, { isWhole, topicRead, isOneByOne: ids.length > 0 }, options, context);
    }
    if (signal.aborted) process.exitCode = 130;
    else if (missing.length > 0) {
      throw new UserError(`there is no dead letter ${missing.join(", ")}: see "noisefloor dead-letters list"`);
    }
  });
}

type Tally = {
  readonly outcomes: RetryOutcome[];
  stored: number;
  refused: number;
  doneBefore: number;
  readonly reasons: Map<string, number>;
  readonly impossible: Map<string, number>;
};

function newTally(): Tally {
  return { outcomes: [], stored: 0, refused: 0, doneBefore: 0, reasons: new Map(), impossible: new Map() };
}

const addOne = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);

function count(tally: Tally, outcome: RetryOutcome): void {
  if (outcome.kind === "stored") tally.stored++;
  else if (outcome.kind === "done-before") tally.doneBefore++;
  else if (outcome.kind === "impossible") addOne(tally.impossible, outcome.why);
  else {
    tally.refused++;
    addOne(tally.reasons, outcome.reason);
  }
}

type Retry = (topic: string, letters: readonly OpenedLetter[]) => Promise<RetryOutcome[]>;

/** Retries letters as long as `work` brings some. */
async function withRetry(
  { client, retentionDays }: Store,
  options: RetryOptions,
  signal: AbortSignal,
  work: (retry: Retry) => Promise<void>,
): Promise<void> {
  const catalogue = await watchTags(client);
  const queue = insertQueue({ insert: insertInto(client), retryForMs: 60_000, lingerMs: 0 });
  try {
    await work((topic, letters) =>
      retryLetters(letters, {
        catalogue,
        retentionDays: () => retentionDays,
        now: Date.now,
        overridePermission: options.overridePermission,
        dryRun: options.dryRun,
        signal,
        accept: acceptInto(queue),
        keepVerdicts: (verdicts) => writeVerdicts(client, topic, verdicts),
      }),
    );
  } finally {
    catalogue.stop();
  }
}

/** @returns the ids that no letter has. */
async function retryById(
  store: Store,
  ids: readonly string[],
  options: RetryOptions,
  context: CommandContext,
  tally: Tally,
): Promise<string[]> {
  const missing = new Set(ids);
  await withRetry(store, options, context.signal, async (retry) => {
    const handle = async (topic: string, letters: readonly OpenedLetter[]) => {
      for (const outcome of await retry(topic, letters)) {
        missing.delete(outcome.letter.id);
        count(tally, outcome);
        tally.outcomes.push(outcome);
      }
    };
    for await (const letters of openTableLettersById(
      store.client,
      ids.filter((id) => !isTopicId(id)),
    )) {
      await handle("", letters);
    }
    const inTopic = ids.filter(isTopicId);
    if (inTopic.length > 0)
      await readTopic(store.client, inTopic, context, (letters) => handle(topicOf(context), letters));
  });
  return [...missing];
}

const topicOf = ({ settings }: CommandContext) => settings.kafka?.deadLetterTopic ?? "";

async function retryMeant(
  store: Store,
  { filter, topicRead }: { readonly filter: LetterFilter; readonly topicRead: boolean },
  options: RetryOptions,
  context: CommandContext,
  tally: Tally,
): Promise<void> {
  const { settings, signal } = context;
  await withRetry(store, options, signal, async (retry) => {
    const handle = async (topic: string, letters: readonly OpenedLetter[]) => {
      for (const outcome of await retry(topic, letters)) count(tally, outcome);
    };
    if (isHomeMeant(filter, "table")) {
      const total = await countLetterRows(store.client);
      const progress = progressBar("Retrying the table's", total, settings.logLevel !== "silent");
      try {
        for await (const letters of openTableLetters(store.client, filter, progress.advance)) {
          if (signal.aborted) break;
          await handle("", letters);
        }
      } finally {
        progress.end();
      }
    }
    if (topicRead && !signal.aborted) {
      await readTopic(store.client, undefined, context, (letters) =>
        handle(
          topicOf(context),
          letters.filter((letter) => isMeant(letter, filter)),
        ),
      );
    }
  });
}

/** What a tally is of: all that was meant, also of the topic, and each letter by its id. */
type TallyOf = { readonly isWhole: boolean; readonly topicRead: boolean; readonly isOneByOne: boolean };

function printTally(
  tally: Tally,
  { isWhole, topicRead, isOneByOne }: TallyOf,
  { dryRun, json }: RetryOptions,
  { print }: CommandContext,
): void {
  const { stored, refused, doneBefore, reasons, impossible } = tally;
  const notTried = [...impossible.values()].reduce((sum, letters) => sum + letters, 0);
  if (json) {
    const letters = tally.outcomes.map(({ letter, ...outcome }) => ({ id: letter.id, ...outcome }));
    const counts = {
      stored,
      refused,
      reasons: Object.fromEntries(reasons),
      not_tried: notTried,
      done_before: doneBefore,
    };
    const of = { dry_run: dryRun, is_whole: isWhole, topic_read: topicRead };
    print(JSON.stringify({ ...of, ...counts, ...(isOneByOne ? { letters } : {}) }));
    return;
  }
  if (!isWhole) print("Stopped before the end; what follows is what was done.");
  for (const outcome of tally.outcomes) print(`${outcome.letter.id}  ${tell(outcome, dryRun)}`);
  if (dryRun) print("Nothing was changed. A retry now would come to this:");
  print(`stored       ${stored}`);
  print(`refused      ${refused}`);
  for (const [reason, letters] of [...reasons].sort()) print(`  ${reason.padEnd(22)} ${letters}`);
  print(`not tried    ${notTried}`);
  for (const [why, letters] of impossible) print(`  ${letters}: ${why}`);
  if (doneBefore > 0) print(`done before  ${doneBefore}`);
}

function tell(outcome: RetryOutcome, dryRun: boolean): string {
  if (outcome.kind === "stored") return dryRun ? "would be stored" : "stored";
  if (outcome.kind === "done-before") return "was stored by an earlier retry";
  if (outcome.kind === "impossible") return `not tried: ${outcome.why}`;
  return `refused: ${outcome.reason}: ${printable(outcome.detail)}`;
}
