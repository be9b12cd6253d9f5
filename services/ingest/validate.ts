import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { PublishRight } from "@noisefloor/domain/access/publishing.ts";
import {
  type Rejection,
  type ValidationCriteria,
  type ValidObservation,
  validateObservation,
} from "@noisefloor/domain/observation/observation.ts";
import { ownTurn } from "@noisefloor/domain/time/own-turn.ts";
import type { Enricher } from "./enrichment/enricher.ts";
import { parseRecord } from "./formats/json/split.ts";
import { type ObservationRow, toRow } from "./observation-row.ts";
import { observationIdOf } from "./record-id.ts";
import type { IncomingRecord, RejectedRecord, ValidationResult } from "./types.ts";

const MAX_DETAIL_LENGTH = 500;
/** What is validated before other requests get their turn. Bytes count too: few records can take as long as many. */
const BEFORE_YIELD = { records: 500, bytes: 256 * 1024 };

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
  /** Fills in the network and the country of a source; left out, rows have what the sensor said. */
  readonly enricher?: Pick<Enricher, "enrich"> | undefined;
  /** Ends the wait for a catalogue that cannot be read. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Validates each record of a batch. An unknown tag may have been imported a moment ago, so the first one makes the
 * catalogue refresh.
 */
export async function validateBatch<R extends IncomingRecord>(
  records: readonly R[],
  options: ValidationOptions,
): Promise<ValidationResult<R>> {
  const { catalogue, right, sensorId, enricher, signal } = options;
  const criteria = { now: options.now(), retentionDays: options.retentionDays(), right, sensorId };
  let isFresh = false;
  const rows: ObservationRow[] = [];
  const accepted: R[] = [];
  const rejected: RejectedRecord<R>[] = [];
  let since = { records: 0, bytes: 0 };
  for (const record of records) {
    if (since.records >= BEFORE_YIELD.records || since.bytes >= BEFORE_YIELD.bytes) {
      await ownTurn();
      since = { records: 0, bytes: 0 };
    }
    since.records++;
    since.bytes += record.bytes.length;
    let validated = validateRecord(record, catalogue, criteria, enricher);
    if ("reason" in validated && validated.reason === "unknown-tag" && !isFresh) {
      await catalogue.refresh(signal);
      isFresh = true;
      validated = validateRecord(record, catalogue, criteria, enricher);
    }
    if ("reason" in validated) rejected.push({ record, rejection: boundDetail(validated) });
    else {
      rows.push(validated.row);
      accepted.push(validated.isFilledIn ? { ...record, value: validated.observation } : record);
    }
  }
  return { rows, accepted, rejected };
}

type ValidRecord = ValidObservation & { readonly row: ObservationRow };

/** A detail may quote the record. Cut in the middle of a character, ClickHouse would reject its text. */
export function boundDetail({ reason, detail }: Rejection): Rejection {
  return { reason, detail: detail.slice(0, MAX_DETAIL_LENGTH).toWellFormed() };
}

function validateRecord(
  record: IncomingRecord,
  catalogue: TagCatalogue,
  criteria: ValidationCriteria,
  enricher: ValidationOptions["enricher"],
): ValidRecord | Rejection {
  const parsed = record.value === undefined ? parseRecord(record.bytes) : { value: record.value };
  if ("reason" in parsed) return parsed;
  const accepted = validateObservation(parsed.value, criteria);
  if ("reason" in accepted) return accepted;
  const tagIds = resolveTags(catalogue, accepted.observation.tags);
  if ("reason" in tagIds) return tagIds;
  enricher?.enrich(accepted.observation);
  return {
    ...accepted,
    row: toRow(accepted, { observationId: observationIdOf(accepted.observation.observation_id, record), tagIds }),
  };
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
