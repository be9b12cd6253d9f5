import type { Verdict } from "@noisefloor/clickhouse/tables/dead-letter-verdicts.ts";
import type { Rejection } from "@noisefloor/domain/observation.ts";
import { formatRight, type Sender } from "@noisefloor/domain/publishing.ts";
import { type Accept, type IncomingRecord, type JudgeDeps, judge, type RejectedRecord } from "../pipeline.ts";
import type { Letter, OpenedLetter } from "./letter.ts";

/** A letter's record on its second way in. */
export type LetterRecord = IncomingRecord & { readonly letter: OpenedLetter };

export type RetryDeps = Omit<JudgeDeps, "right" | "sensorId"> & {
  /** Stores what was accepted; answers with the records that the store refused. */
  readonly accept: Accept<LetterRecord>;
  readonly keepVerdicts: (verdicts: readonly Verdict[]) => Promise<void>;
  /** Whether what its sender was not permitted to write may be stored all the same. */
  readonly overridePermission: boolean;
  /** Judge and tell, but store nothing. */
  readonly dryRun: boolean;
  /** Aborted, a store that is away is not waited for any more. */
  readonly signal?: AbortSignal;
};

/** What became of a letter. */
export type RetryOutcome = { readonly letter: Letter } & (
  | { readonly kind: "stored" }
  | { readonly kind: "refused"; readonly reason: string; readonly detail: string }
  | { readonly kind: "impossible"; readonly why: string }
  | { readonly kind: "done-before" }
);

const ANYBODY: Sender = { right: "everything" };

const RIGHT_UNKNOWN =
  "its sender's right to publish was not noted: with --override-permission it is stored as if it might write everywhere";

/**
 * Sends letters through the pipeline once more, each judged by its own sender's right. The observations are stored
 * before their letters are marked as done: broken off between, a retry stores the same observations again, which
 * counts once.
 */
export async function retryLetters(letters: readonly OpenedLetter[], deps: RetryDeps): Promise<RetryOutcome[]> {
  const outcomes: RetryOutcome[] = [];
  const refused = new Map<OpenedLetter, Rejection>();
  const judged: OpenedLetter[] = [];
  const bySender = new Map<string, { sender: Sender; records: LetterRecord[] }>();
  for (const letter of letters) {
    const { secondTry } = letter;
    if (letter.isDone) outcomes.push({ letter, kind: "done-before" });
    else if (secondTry.kind === "impossible") outcomes.push({ letter, kind: "impossible", why: secondTry.why });
    else if (secondTry.kind === "refuse") {
      judged.push(letter);
      refused.set(letter, secondTry.rejection);
    } else {
      const sender = secondTry.sender ?? (deps.overridePermission ? ANYBODY : undefined);
      if (sender === undefined) {
        outcomes.push({ letter, kind: "impossible", why: RIGHT_UNKNOWN });
        continue;
      }
      judged.push(letter);
      const name = JSON.stringify([formatRight(sender.right), sender.sensorId]);
      const group = bySender.get(name) ?? { sender, records: [] };
      bySender.set(name, group);
      group.records.push(...secondTry.records.map((record) => ({ ...record, letter })));
    }
  }
  for (const { sender, records } of bySender.values()) {
    const rejected = await judgeAndStore(records, sender, deps);
    for (const { record, rejection } of rejected) {
      if (!refused.has(record.letter)) refused.set(record.letter, rejection);
    }
  }
  if (!deps.dryRun) await deps.keepVerdicts(judged.map((letter) => toVerdict(letter, refused.get(letter), deps.now())));
  for (const letter of judged) {
    const rejection = refused.get(letter);
    outcomes.push(rejection === undefined ? { letter, kind: "stored" } : { letter, kind: "refused", ...rejection });
  }
  return outcomes;
}

async function judgeAndStore(
  records: readonly LetterRecord[],
  { right, sensorId }: Sender,
  deps: RetryDeps,
): Promise<RejectedRecord<LetterRecord>[]> {
  const judged = await judge(records, { ...deps, right, sensorId });
  const rejected = [...judged.rejected];
  if (!deps.dryRun) rejected.push(...(await deps.accept(judged, { signal: deps.signal })));
  if (!deps.overridePermission || (right === "everything" && sensorId === undefined)) return rejected;
  const overruled = rejected.filter(({ rejection }) => rejection.reason === "not-permitted");
  if (overruled.length === 0) return rejected;
  const again = await judgeAndStore(
    overruled.map(({ record }) => record),
    ANYBODY,
    deps,
  );
  return [...rejected.filter(({ rejection }) => rejection.reason !== "not-permitted"), ...again];
}

function toVerdict(letter: OpenedLetter, rejection: Rejection | undefined, judgedAt: number): Verdict {
  return {
    letter: letter.id,
    writtenAt: letter.writtenAt,
    // Also from a machine whose clock is behind: a verdict older than its letter would not count.
    judgedAt: Math.max(judgedAt, letter.keptAt),
    isDone: rejection === undefined,
    reason: rejection?.reason ?? "",
    detail: rejection?.detail ?? "",
  };
}
