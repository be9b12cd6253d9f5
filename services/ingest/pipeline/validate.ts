import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { PublishRight } from "@noisefloor/domain/access/publishing.ts";
import {
  type Rejection,
  type ValidationCriteria,
  type ValidObservation,
  validateObservation,
} from "@noisefloor/domain/observation/observation.ts";
import { isSensorId } from "@noisefloor/domain/observation/schema.ts";
import { createRecordPace } from "@noisefloor/domain/time/yield.ts";
import { readObservation } from "../formats/observations.ts";
import type { AcceptedRecord, IncomingRecord, IngestedRecords, RejectedRecord } from "../record.ts";

const MAX_DETAIL_LENGTH = 500;

export type ValidationOptions = {
  readonly catalogue: TagCatalogue;
  /** As it holds now. */
  readonly retentionDays: () => number;
  /** Where the sender of the records may write. */
  readonly right: PublishRight;
  /** The one sensor that their sender's key was made for; left out when it may send for any. */
  readonly sensorId?: string | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Ends the wait for a catalogue that cannot be read. */
  readonly signal?: AbortSignal | undefined;
  /** Adds what the formats know of a record that is no observation, as `formats/explain-rejection.ts` does. */
  readonly explain: (rejection: Rejection, record: IncomingRecord, value: unknown, now: number) => Rejection;
};

/**
 * Validates each record of a batch. An unknown tag may have been imported a moment ago, so the first one makes the
 * catalogue refresh.
 */
export async function validateBatch<R extends IncomingRecord>(
  records: readonly R[],
  options: ValidationOptions,
): Promise<IngestedRecords<R>> {
  const { catalogue, right, sensorId, signal } = options;
  const criteria = { now: options.now(), retentionDays: options.retentionDays(), right, sensorId };
  let isFresh = false;
  const accepted: AcceptedRecord<R>[] = [];
  const rejected: RejectedRecord<R>[] = [];
  const pace = createRecordPace();
  for (const record of records) {
    const pause = pace(record.bytes.length);
    if (pause !== undefined) await pause;
    let validated = validateRecord(record, options, criteria);
    if ("rejection" in validated && validated.rejection.reason === "unknown-tag" && !isFresh) {
      await catalogue.refresh(signal);
      isFresh = true;
      validated = validateRecord(record, options, criteria);
    }
    if ("rejection" in validated) {
      rejected.push({ record, rejection: boundDetail(validated.rejection), sensorId: validated.sensorId ?? sensorId });
    } else {
      const { valid, tagIds, isComplete } = validated;
      accepted.push({ record: isComplete ? record : { ...record, value: valid.observation }, valid, tagIds });
    }
  }
  return { accepted, rejected };
}

type ValidRecord = {
  readonly valid: ValidObservation;
  readonly tagIds: readonly string[];
  /** Whether the bytes say it all by themselves: they hold it in no wrapper, and its sender's key added nothing. */
  readonly isComplete: boolean;
};
type InvalidRecord = { readonly rejection: Rejection; readonly sensorId?: string | undefined };

/** A detail may quote the record. Cut in the middle of a character, ClickHouse would reject its text. */
export function boundDetail({ reason, detail }: Rejection): Rejection {
  return { reason, detail: detail.slice(0, MAX_DETAIL_LENGTH).toWellFormed() };
}

function validateRecord(
  record: IncomingRecord,
  { catalogue, explain }: ValidationOptions,
  criteria: ValidationCriteria,
): ValidRecord | InvalidRecord {
  if (record.rejection !== undefined) return { rejection: record.rejection };
  const read = record.value === undefined ? readObservation(record.bytes) : { value: record.value, isWrapped: false };
  if ("reason" in read) return { rejection: read };
  const { value, isWrapped } = read;
  const valid = validateObservation(value, criteria);
  if ("reason" in valid) {
    return { rejection: explain(valid, record, value, criteria.now), sensorId: namedSensor(value) };
  }
  const tagIds = resolveTags(catalogue, valid.observation.tags);
  if ("reason" in tagIds) return { rejection: tagIds, sensorId: valid.observation.sensor_id };
  return { valid, tagIds, isComplete: !isWrapped && !valid.isFilledIn };
}

/** The sensor that a record names which is no observation. */
function namedSensor(value: unknown): string | undefined {
  const name = typeof value === "object" && value !== null && "sensor_id" in value ? value.sensor_id : undefined;
  return typeof name === "string" && isSensorId(name) ? name : undefined;
}

/** The ids behind tag references, without repetition, or a rejection that names the first unknown one. */
function resolveTags(catalogue: TagCatalogue, references: readonly string[]): readonly string[] | Rejection {
  const ids = new Set<string>();
  for (const reference of references) {
    const tag = catalogue.resolve(reference);
    if (tag === undefined) return { reason: "unknown-tag", detail: `tag "${reference}" is not in the catalogue` };
    ids.add(tag.id);
  }
  return [...ids];
}
