import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type DeadLetterSource, readBytesSince } from "@noisefloor/clickhouse/tables/dead-letters.ts";
import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { DAY_MS, formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { Logger } from "pino";
import { retry, unlessAborted } from "../retry.ts";
import type { DeadLetter, DeadLetterStore } from "./dead-letter.ts";
import { type DeadLetterStoreOptions, deadLetterStore, RETRY_MS, storedBytes } from "./store.ts";

export type DeadLetterQuotaOptions = DeadLetterStoreOptions & {
  readonly source: DeadLetterSource;
  /** What the dead letters of one sender may take a UTC day. */
  readonly bytesPerDay: number;
  /** Called with the bytes that were stored, and with the records beyond the quota, of which only a sample is. */
  readonly onStored?: ((bytes: number) => void) | undefined;
  readonly onBeyondQuota?: ((records: number) => void) | undefined;
  readonly log: Logger;
  /** How often counts and samples of what is beyond the quota are stored. */
  readonly flushMs?: number;
};

export type LimitedDeadLetterStore = {
  readonly store: DeadLetterStore;
  /** Stores the last counts and samples. */
  close(): Promise<void>;
};

/** What one sender sent beyond its quota since the last flush. */
type BeyondQuota = {
  readonly sample: DeadLetter;
  readonly since: number;
  records: number;
  bytes: number;
  readonly reasons: Map<string, number>;
};

const FLUSH_MS = 60_000;
const SAMPLE_BYTES = 4 * 1024;
const LOGGED_KEYS = 10;

/**
 * Stores dead letters up to a quota per sender and UTC day, so that no sender can fill the disk with records that are
 * rejected. A sender is a key; without keys, the whole source. Beyond the quota one sample a minute and sender is
 * stored, which says how many records it stands for. Memory is bounded by the number of keys, for requests with unknown
 * ones get no further.
 */
export function limitedDeadLetterStore(
  client: ClickHouseClient,
  options: DeadLetterQuotaOptions,
): LimitedDeadLetterStore {
  const { bytesPerDay, onStored, onBeyondQuota, flushMs = FLUSH_MS } = options;
  const write = deadLetterStore(client, options);
  const used = usedBytes(client, options);
  const overflow = countOverflow(write, options);
  const timer = setInterval(() => void overflow.flush(), flushMs);
  timer.unref();
  return {
    async store(deadLetters, signal) {
      // A batch has one sender.
      const keyId = deadLetters[0]?.sender.keyId ?? "";
      const sum = await unlessAborted(used(keyId), signal);
      const within: DeadLetter[] = [];
      const beyond: DeadLetter[] = [];
      let bytes = 0;
      for (const deadLetter of deadLetters) {
        const size = storedBytes(deadLetter);
        if (sum.bytes + bytes + size > bytesPerDay) beyond.push(deadLetter);
        else {
          within.push(deadLetter);
          bytes += size;
        }
      }
      // Before they are stored: batches at the same time must not each find the whole quota.
      sum.bytes += bytes;
      try {
        if (within.length > 0) await write(within, signal);
      } catch (error) {
        sum.bytes -= bytes;
        throw error;
      }
      onStored?.(bytes);
      for (const deadLetter of beyond) overflow.count(keyId, deadLetter);
      if (beyond.length > 0) onBeyondQuota?.(beyond.length);
    },
    async close() {
      clearInterval(timer);
      await overflow.flush();
    },
  };
}

/** Counts what is beyond the quota by sender, and stores the counts with a sample when it is flushed. */
function countOverflow(write: DeadLetterStore, { source, bytesPerDay, now, log }: DeadLetterQuotaOptions) {
  let overflow = new Map<string, BeyondQuota>();
  return {
    count(keyId: string, deadLetter: DeadLetter) {
      const empty = { since: now(), records: 0, bytes: 0, reasons: new Map<string, number>() };
      const sum = overflow.get(keyId) ?? { sample: sampleOf(deadLetter), ...empty };
      overflow.set(keyId, sum);
      sum.records++;
      sum.bytes += deadLetter.payloadBytes;
      addTo(sum.reasons, deadLetter.rejection.reason, 1);
    },
    async flush() {
      const counted = overflow;
      if (counted.size === 0) return;
      overflow = new Map();
      const sums = [...counted.values()];
      const records = sums.reduce((sum, one) => sum + one.records, 0);
      const keys = [...counted.keys()].slice(0, LOGGED_KEYS);
      log.warn({ source, records, keys }, "dead letters exceed the day's quota; storing only counts and a sample");
      try {
        await write(sums.map((sum) => toDeadLetter(sum, bytesPerDay)));
      } catch (error) {
        log.warn({ err: error, source }, "storing counts of dead letters beyond the quota failed, retrying later");
        for (const [keyId, sum] of counted) overflow.set(keyId, merge(sum, overflow.get(keyId)));
      }
    },
  };
}

/** How much of today's quota each key has used. The store is asked at a key's first dead letter of the day. */
function usedBytes(
  client: ClickHouseClient,
  { source, now, retryForMs = RETRY_MS, shutdown, onRetry }: DeadLetterQuotaOptions,
): (keyId: string) => Promise<{ bytes: number }> {
  let day = 0;
  let used = new Map<string, Promise<{ bytes: number }>>();
  return (keyId) => {
    const today = Math.floor(now() / DAY_MS);
    if (today !== day) used = new Map();
    day = today;
    const known = used.get(keyId);
    if (known !== undefined) return known;
    const read = () => readBytesSince(client, { source, keyId, since: today * DAY_MS });
    // Without the caller's signal: several wait for one answer.
    const reading = retry(read, { forMs: retryForMs, signal: shutdown, onRetry }).then((bytes) => ({ bytes }));
    used.set(keyId, reading);
    // Else one failure would be the answer all day.
    reading.catch(() => used.delete(keyId));
    return reading;
  };
}

function addTo(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/** A copy: the record's bytes are part of a request's, which must not stay in memory for a minute. */
function sampleOf(deadLetter: DeadLetter): DeadLetter {
  const { value, ...rest } = deadLetter;
  const payload = Buffer.from(deadLetter.payload.subarray(0, SAMPLE_BYTES));
  return { ...rest, payload, ...(payload.length === deadLetter.payloadBytes && { value }) };
}

function toDeadLetter({ sample, since, records, bytes, reasons }: BeyondQuota, bytesPerDay: number): DeadLetter {
  const { reason, detail } = sample.rejection;
  const counts = [...reasons].map(([name, count]) => `${name} ${count}`).join(", ");
  const note = `sample of ${records} records with ${formatBytes(bytes)} since ${formatTimestamp(since)} (${counts}), beyond the quota of ${formatBytes(bytesPerDay)} a day; its own reason: `;
  return { ...sample, rejection: { reason, detail: note + detail } };
}

function merge(older: BeyondQuota, newer: BeyondQuota | undefined): BeyondQuota {
  if (newer === undefined) return older;
  const reasons = new Map(older.reasons);
  for (const [reason, count] of newer.reasons) addTo(reasons, reason, count);
  return { ...older, records: older.records + newer.records, bytes: older.bytes + newer.bytes, reasons };
}
