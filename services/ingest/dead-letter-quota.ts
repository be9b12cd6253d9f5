import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readLetterBytes } from "@noisefloor/clickhouse/tables/dead-letters.ts";
import { DAY_MS, formatTimestamp } from "@noisefloor/domain/window.ts";
import type { Logger } from "pino";
import { cutNote, deadLettersInto, type PlacedRecord, RETRY_MS, storedSize } from "./dead-letter.ts";
import { patiently } from "./patience.ts";
import type { KeepDeadLetters, RejectedRecord } from "./pipeline.ts";

export type DeadLetterQuotaOptions = {
  readonly source: "http" | "file";
  /** What the letters of one sender may take a UTC day. */
  readonly bytesPerDay: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called before each insert: throws while the store must not grow. */
  readonly requireSpace?: (() => void) | undefined;
  /** Called with what was kept, and with what was counted and not kept. */
  readonly onKept?: ((bytes: number) => void) | undefined;
  readonly onNotKept?: ((records: number) => void) | undefined;
  readonly log: Logger;
  /** How often counts of what was not kept are written. */
  readonly flushMs?: number;
};

export type LimitedDeadLetters = {
  readonly keep: KeepDeadLetters<PlacedRecord>;
  /** Writes what was counted last. */
  close(): Promise<void>;
};

/** What one key's sender sent beyond its quota since the last flush. */
type NotKept = {
  readonly sample: RejectedRecord<PlacedRecord>;
  readonly since: number;
  records: number;
  bytes: number;
  readonly reasons: Map<string, number>;
};

const FLUSH_MS = 60_000;
/** Of the one record a minute that stands for all that were not kept. */
const SAMPLE_BYTES = 4 * 1024;

/**
 * Keeps dead letters in the table up to a quota per key and UTC day, so that nobody can fill the disk with records that
 * are refused. Beyond it one letter a minute and key is kept, which says how many records it stands for. Memory is bounded
 * by the number of keys: requests with unknown ones are refused before.
 */
export function limitDeadLetters(client: ClickHouseClient, options: DeadLetterQuotaOptions): LimitedDeadLetters {
  const { source, bytesPerDay, now, requireSpace, onKept, onNotKept, log, flushMs = FLUSH_MS } = options;
  const write = deadLettersInto(client, source, now, requireSpace);
  let day = 0;
  /** What was kept today by key id, as the store said at the key's first letter of the day: a restart forgets it. */
  let kept = new Map<string, Promise<{ bytes: number }>>();
  let notKept = new Map<string, NotKept>();

  const keptBy = (keyId: string): Promise<{ bytes: number }> => {
    const today = Math.floor(now() / DAY_MS);
    if (today !== day) kept = new Map();
    day = today;
    const known = kept.get(keyId);
    if (known !== undefined) return known;
    const read = () => readLetterBytes(client, { source, keyId, since: today * DAY_MS });
    const reading = patiently(read, { forMs: RETRY_MS }).then((bytes) => ({ bytes }));
    kept.set(keyId, reading);
    // Else one failure would be the answer all day.
    reading.catch(() => kept.delete(keyId));
    return reading;
  };

  const keep = async (rejected: readonly RejectedRecord<PlacedRecord>[]) => {
    // A batch has one sender.
    const keyId = rejected[0]?.record.sender?.keyId ?? "";
    const sum = await keptBy(keyId);
    const within: RejectedRecord<PlacedRecord>[] = [];
    const beyond: RejectedRecord<PlacedRecord>[] = [];
    let bytes = 0;
    for (const one of rejected) {
      const size = storedSize(one);
      if (sum.bytes + bytes + size > bytesPerDay) beyond.push(one);
      else {
        within.push(one);
        bytes += size;
      }
    }
    // Before they are written: requests at the same time must not each find the whole quota.
    sum.bytes += bytes;
    try {
      if (within.length > 0) await write(within);
    } catch (error) {
      sum.bytes -= bytes;
      throw error;
    }
    onKept?.(bytes);
    for (const one of beyond) count(keyId, one);
    if (beyond.length > 0) onNotKept?.(beyond.length);
  };

  const count = (keyId: string, one: RejectedRecord<PlacedRecord>) => {
    const sum = notKept.get(keyId) ?? { sample: copyOf(one), since: now(), records: 0, bytes: 0, reasons: new Map() };
    notKept.set(keyId, sum);
    sum.records++;
    sum.bytes += one.record.bytes.length;
    const { reason } = one.rejection;
    sum.reasons.set(reason, (sum.reasons.get(reason) ?? 0) + 1);
  };

  const flush = async () => {
    const counted = notKept;
    if (counted.size === 0) return;
    notKept = new Map();
    const sums = [...counted.values()];
    const records = sums.reduce((sum, one) => sum + one.records, 0);
    const keys = [...counted.keys()].slice(0, 10);
    log.warn({ source, records, keys }, "dead letters exceed the day's quota; only counts and a sample are kept");
    try {
      await write(sums.map((sum) => standIn(sum, bytesPerDay)));
    } catch (error) {
      log.warn({ err: error, source }, "counts of dead letters that were not kept cannot be written, retrying");
      for (const [keyId, sum] of counted) notKept.set(keyId, join(sum, notKept.get(keyId)));
    }
  };
  const timer = setInterval(() => void flush(), flushMs);
  timer.unref();

  return {
    keep,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

/** What is kept of the first record: its bytes are part of a request's, which must not stay in memory for a minute. */
function copyOf({ record, rejection }: RejectedRecord<PlacedRecord>): RejectedRecord<PlacedRecord> {
  const { value, ...rest } = record;
  const bytes = Buffer.from(record.bytes.subarray(0, SAMPLE_BYTES));
  const isWhole = bytes.length === record.bytes.length;
  const detail = isWhole ? rejection.detail : rejection.detail + cutNote(record.bytes.length, bytes.length);
  return { record: { ...rest, bytes, ...(isWhole && { value }) }, rejection: { ...rejection, detail } };
}

/** The sample as a letter that says what it stands for. */
function standIn({ sample, since, records, bytes, reasons }: NotKept, bytesPerDay: number) {
  const counts = [...reasons].map(([reason, count]) => `${reason} ${count}`).join(", ");
  const note = `stands for ${records} records of ${bytes} bytes since ${formatTimestamp(since)} (${counts}), beyond the ${bytesPerDay} bytes of dead letters that a sender may leave a day; its own reason: `;
  return { ...sample, rejection: { ...sample.rejection, detail: note + sample.rejection.detail } };
}

function join(older: NotKept, newer: NotKept | undefined): NotKept {
  if (newer === undefined) return older;
  const reasons = new Map(older.reasons);
  for (const [reason, count] of newer.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  return { ...older, records: older.records + newer.records, bytes: older.bytes + newer.bytes, reasons };
}
