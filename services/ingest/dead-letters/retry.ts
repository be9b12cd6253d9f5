import type { StoredRetry } from "@noisefloor/clickhouse/dead-letters/dead-letter-retries.ts";
import { formatRight, type Sender } from "@noisefloor/domain/access/publishing.ts";
import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { explainRejection } from "../formats/explain-rejection.ts";
import { type BatchOptions, ingestBatch } from "../pipeline/pipeline.ts";
import type { IncomingRecord, RejectedRecord } from "../record.ts";
import { drySink } from "../store/sink.ts";
import type { DeadLetterSummary, OpenedDeadLetter } from "./read.ts";
import { toRetryInput } from "./retry-input.ts";

/** A record of a dead letter that is retried. */
export type RetriedRecord = IncomingRecord & { readonly deadLetter: OpenedDeadLetter };

export type RetryOptions = Omit<BatchOptions<RetriedRecord>, "right" | "sensorId" | "explain" | "storeDeadLetters"> & {
  readonly writeRetries: (retries: readonly StoredRetry[]) => Promise<void>;
  /** Store also what its sender was not permitted to write. */
  readonly overridePermission: boolean;
  /** Validate, but store nothing. */
  readonly dryRun: boolean;
};

/** The result of a dead letter's retry. */
export type RetryResult = { readonly deadLetter: DeadLetterSummary } & (
  | { readonly kind: "stored" }
  | { readonly kind: "rejected"; readonly reason: string; readonly detail: string }
  | { readonly kind: "skipped"; readonly why: string }
  | { readonly kind: "already-done" }
);

const UNRESTRICTED: Sender = { right: "everything" };

type Group = { readonly sender: Sender; readonly records: RetriedRecord[] };

/**
 * Sends dead letters through the pipeline again, each with the rights of its own sender. The observations are stored
 * before the results: after a crash between the two, the next retry stores the same observations again.
 */
export async function retryDeadLetters(
  deadLetters: readonly OpenedDeadLetter[],
  options: RetryOptions,
): Promise<RetryResult[]> {
  const results: RetryResult[] = [];
  const retried: OpenedDeadLetter[] = [];
  const rejections = new Map<OpenedDeadLetter, Rejection>();
  const groups = new Map<string, Group>();
  for (const deadLetter of deadLetters) {
    if (deadLetter.isDone) {
      results.push({ deadLetter, kind: "already-done" });
      continue;
    }
    const input = toRetryInput(deadLetter);
    if (input.kind === "impossible") {
      results.push({ deadLetter, kind: "skipped", why: input.why });
      continue;
    }
    retried.push(deadLetter);
    if (input.kind === "rejected") rejections.set(deadLetter, input.rejection);
    else groupOf(input.sender, groups).records.push(...input.records.map((record) => ({ ...record, deadLetter })));
  }
  for (const { sender, records } of groups.values()) {
    for (const { record, rejection } of await validateAndStore(records, sender, options)) {
      if (!rejections.has(record.deadLetter)) rejections.set(record.deadLetter, rejection);
    }
  }
  if (!options.dryRun) {
    await options.writeRetries(
      retried.map((deadLetter) => toStoredRetry(deadLetter, rejections.get(deadLetter), options.now())),
    );
  }
  for (const deadLetter of retried) {
    const rejection = rejections.get(deadLetter);
    results.push(
      rejection === undefined ? { deadLetter, kind: "stored" } : { deadLetter, kind: "rejected", ...rejection },
    );
  }
  return results;
}

function groupOf(sender: Sender, groups: Map<string, Group>): Group {
  const name = JSON.stringify([formatRight(sender.right), sender.sensorId]);
  const group = groups.get(name) ?? { sender, records: [] };
  groups.set(name, group);
  return group;
}

async function validateAndStore(
  records: readonly RetriedRecord[],
  { right, sensorId }: Sender,
  options: RetryOptions,
): Promise<readonly RejectedRecord<RetriedRecord>[]> {
  const sink = options.dryRun ? drySink : options.sink;
  // They are dead letters already.
  const batch = { ...options, right, sensorId, sink, explain: explainRejection, storeDeadLetters: async () => {} };
  const { rejected } = await ingestBatch(records, batch).stored;
  if (!options.overridePermission || (right === "everything" && sensorId === undefined)) return rejected;
  const notPermitted = rejected.filter(({ rejection }) => rejection.reason === "not-permitted");
  if (notPermitted.length === 0) return rejected;
  const again = notPermitted.map(({ record }) => record);
  return [
    ...rejected.filter(({ rejection }) => rejection.reason !== "not-permitted"),
    ...(await validateAndStore(again, UNRESTRICTED, options)),
  ];
}

function toStoredRetry(deadLetter: OpenedDeadLetter, rejection: Rejection | undefined, now: number): StoredRetry {
  return {
    id: deadLetter.id,
    // Also on a machine whose clock is behind: a result older than its dead letter would not count.
    retriedAt: Math.max(now, deadLetter.receivedAt),
    isDone: rejection === undefined,
    reason: rejection?.reason ?? "",
    detail: rejection?.detail ?? "",
  };
}
