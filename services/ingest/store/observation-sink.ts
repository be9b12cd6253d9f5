import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { isTransient } from "@noisefloor/clickhouse/client/errors.ts";
import { readSessions } from "@noisefloor/clickhouse/observations/sessions.ts";
import { findCallbacks } from "@noisefloor/domain/callbacks/find-callbacks.ts";
import { type RetryOptions, retry } from "@noisefloor/domain/time/retry.ts";
import type { RowOptions } from "../rows/make-rows.ts";
import type { ObservationRow } from "../rows/observation-row.ts";
import { createSessions, type Sessions } from "../rows/sessions/sessions.ts";
import { insertObservations } from "./insert.ts";
import { type Insert, insertQueue } from "./insert-queue.ts";
import { openInsertQueue } from "./insert-queues.ts";
import { observationLeftovers } from "./leftovers.ts";
import type { RowSink } from "./sink.ts";

export type ObservationSinkOptions = {
  /** For how long a store that is away is waited for. */
  readonly retryForMs: number;
  /** The least time between the starts of two inserts: meanwhile rows join the second. 0 unless given. */
  readonly intervalMs?: number;
  /** How rows are made; without it observations are stored as their senders describe them. */
  readonly rows?: Omit<RowOptions, "sessions"> | undefined;
  /** Shared by the sinks of one process; this sink's own unless given. */
  readonly sessions?: Sessions;
  /** Throws while the store must not grow. */
  readonly assertSpace?: (() => void) | undefined;
  /** Adds to each insert: measures it, and records what it has stored. */
  readonly wrapInsert?: (insert: Insert<ObservationRow>) => Insert<ObservationRow>;
  /** Aborted at a shutdown: nothing is retried any more. */
  readonly shutdown?: AbortSignal | undefined;
  /** @returns what is called before each retry. @param failed what did. */
  readonly logRetry?: (failed: string) => RetryOptions["onRetry"];
};

/** The sessions of a store. */
export const storedSessions = (client: ClickHouseClient): Sessions =>
  createSessions((wanted, times) => readSessions(client, wanted, times));

/** Stores rows of observations, whose sessions it knows. */
export function observationSink(client: ClickHouseClient, options: ObservationSinkOptions): RowSink {
  const { retryForMs, intervalMs = 0, rows: rowOptions, assertSpace, wrapInsert, shutdown, logRetry } = options;
  const onRetry = logRetry?.("insert failed");
  const retrying = { forMs: retryForMs, isTransient, signal: shutdown };
  const openQueue = (server: ClickHouseClient) => {
    const insert = insertObservations(server, assertSpace);
    const leftovers = observationLeftovers(client, server, retrying);
    return insertQueue({
      insert: wrapInsert?.(insert) ?? insert,
      retryForMs,
      intervalMs,
      shutdown,
      onRetry,
      leftovers,
    });
  };
  const queue = openInsertQueue(client, openQueue, { ...retrying, onRetry });
  const stored = options.sessions ?? storedSessions(client);
  const sessions: Sessions = {
    join: (parts) => retry(() => stored.join(parts), { ...retrying, onRetry: logRetry?.("reading sessions failed") }),
  };
  return {
    rows: { findCallbacks: (observation) => findCallbacks(observation, () => false), ...rowOptions, sessions },
    async store(rows, bytes, signal) {
      const refused = await queue.store(rows, bytes, signal);
      return new Map(
        refused.flatMap(({ index, detail }): [ObservationRow, string][] => {
          const row = rows[index];
          return row === undefined ? [] : [[row, detail]];
        }),
      );
    },
  };
}
