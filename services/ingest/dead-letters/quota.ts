import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { isTransient } from "@noisefloor/clickhouse/client/errors.ts";
import { type DeadLetterSource, readBytesSince } from "@noisefloor/clickhouse/dead-letters/dead-letters.ts";
import { retry } from "@noisefloor/domain/time/retry.ts";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import { unlessAborted } from "@noisefloor/domain/time/unless-aborted.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { Logger } from "pino";
import type { DeadLetter, DeadLetterStore } from "./dead-letter.ts";
import { type DeadLetterStoreOptions, deadLetterStore, RETRY_MS, storedBytes } from "./store.ts";

export type DeadLetterQuotaOptions = DeadLetterStoreOptions & {
  readonly source: DeadLetterSource;
  /** What the dead letters of one sender may take a UTC day. */
  readonly bytesPerDay: number;
  /** Counters; a replay's have no reader. */
  readonly metrics?: DeadLetterMetrics | undefined;
  readonly log: Logger;
};

type Counter = { inc(labels: { readonly source: string }, by: number): void };
export type DeadLetterMetrics = { readonly deadLetterBytes: Counter; readonly deadLettersNotKept: Counter };

/** What a key has used of its quota on a UTC day. */
type Usage = { bytes: number; isLogged: boolean };

/**
 * Stores dead letters up to a quota per sender and UTC day, so that no sender can fill the disk with records that are
 * rejected; what is beyond the quota is only counted. A sender is a key; without keys, the whole source. Memory is
 * bounded by the number of keys, for requests with unknown ones get no further.
 */
export function limitedDeadLetterStore(client: ClickHouseClient, options: DeadLetterQuotaOptions): DeadLetterStore {
  const { source, bytesPerDay, metrics, log } = options;
  // From 0: Prometheus cannot see the increase of a counter that first appears with its first events.
  metrics?.deadLetterBytes.inc({ source }, 0);
  metrics?.deadLettersNotKept.inc({ source }, 0);
  const write = deadLetterStore(client, options);
  const usageOf = readUsage(client, options);
  return async (deadLetters, signal) => {
    // A batch has one sender.
    const keyId = deadLetters[0]?.sender.keyId ?? "";
    const usage = await unlessAborted(usageOf(keyId), signal);
    const kept: DeadLetter[] = [];
    let bytes = 0;
    for (const deadLetter of deadLetters) {
      const size = storedBytes(deadLetter);
      if (usage.bytes + bytes + size > bytesPerDay) continue;
      kept.push(deadLetter);
      bytes += size;
    }
    // Before they are stored: batches at the same time must not each find the whole quota.
    usage.bytes += bytes;
    try {
      if (kept.length > 0) await write(kept, signal);
    } catch (error) {
      usage.bytes -= bytes;
      throw error;
    }
    metrics?.deadLetterBytes.inc({ source }, bytes);
    const dropped = deadLetters.length - kept.length;
    if (dropped === 0) return;
    metrics?.deadLettersNotKept.inc({ source }, dropped);
    if (!usage.isLogged)
      log.warn({ source, key: keyId }, "dead letters exceed the day's quota; only counting further ones");
    usage.isLogged = true;
  };
}

/** How much of today's quota each key has used. The store is asked at a key's first dead letter of the day. */
function readUsage(
  client: ClickHouseClient,
  { source, now, retryForMs = RETRY_MS, shutdown, onRetry }: DeadLetterQuotaOptions,
): (keyId: string) => Promise<Usage> {
  let day = 0;
  const createReads = () => createSingleFlight<string, Usage>({ keepsResults: true });
  let readOnce = createReads();
  return (keyId) => {
    const today = Math.floor(now() / DAY_MS);
    if (today !== day) readOnce = createReads();
    day = today;
    const read = () => readBytesSince(client, { source, keyId, since: today * DAY_MS });
    return readOnce(keyId, async () => {
      // Without the caller's signal: several wait for one answer.
      const bytes = await retry(read, { forMs: retryForMs, isTransient, signal: shutdown, onRetry });
      return { bytes, isLogged: false };
    });
  };
}
