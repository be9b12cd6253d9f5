import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { isTransient } from "@noisefloor/clickhouse/client/errors.ts";
import { bytesOf, type DeadLetterRow, writeDeadLetters } from "@noisefloor/clickhouse/dead-letters/dead-letters.ts";
import { formatRight } from "@noisefloor/domain/access/publishing.ts";
import { chunksOf } from "@noisefloor/domain/chunks.ts";
import { type RetryOptions, retry } from "@noisefloor/domain/time/retry.ts";
import type { DeadLetter, DeadLetterStore } from "./dead-letter.ts";

/** How long HTTP requests and files wait for a store that is away. */
export const RETRY_MS = 10_000;

/** An insert is one string in memory, and the runtime has none beyond half a gigabyte. */
const PER_INSERT = { items: 10_000, bytes: 16 * 1024 * 1024 };

export type DeadLetterStoreOptions = {
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Throws while the store must not grow. */
  readonly assertSpace?: (() => void) | undefined;
  /** For how long a transient failure is retried. */
  readonly retryForMs?: number;
  /** Aborted at a shutdown: nothing is retried any more. */
  readonly shutdown?: AbortSignal | undefined;
  readonly onRetry?: RetryOptions["onRetry"];
};

/** Stores dead letters in the table `dead_letters`. The same record of the same message or file is stored once. */
export function deadLetterStore(client: ClickHouseClient, options: DeadLetterStoreOptions): DeadLetterStore {
  const { now, assertSpace = () => {}, retryForMs = RETRY_MS, shutdown, onRetry } = options;
  return async (deadLetters, signal) => {
    const receivedAt = now();
    const either = signal && shutdown ? AbortSignal.any([signal, shutdown]) : (signal ?? shutdown);
    for (const rows of chunksOf(deadLetters.map(toRow), bytesOf, PER_INSERT)) {
      const insert = async () => {
        signal?.throwIfAborted();
        assertSpace();
        await writeDeadLetters(client, rows, receivedAt);
      };
      await retry(insert, { forMs: retryForMs, isTransient, signal: either, onRetry });
    }
  };
}

/** About how many bytes a dead letter takes in the table. */
export function storedBytes(deadLetter: DeadLetter): number {
  return bytesOf(toRow(deadLetter));
}

function toRow({ rejection, value, sender, sensorId, ...deadLetter }: DeadLetter): DeadLetterRow {
  const { source, origin, position, payload, payloadBytes, message } = deadLetter;
  return {
    source,
    origin,
    position,
    ...rejection,
    payload,
    payloadBytes,
    value: formatValue(value),
    publishRight: formatRight(sender.right),
    keyId: sender.keyId ?? "",
    keySensorId: sender.sensorId ?? "",
    sensorId: sensorId ?? sender.sensorId ?? "",
    message,
  };
}

/**
 * Empty when there is none, or one nested so deep that it cannot be written: JSON.parse takes more than JSON.stringify.
 */
function formatValue(value: unknown): string {
  try {
    return value === undefined ? "" : JSON.stringify(value);
  } catch {
    return "";
  }
}
