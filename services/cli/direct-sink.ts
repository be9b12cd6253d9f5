import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readSessions } from "@noisefloor/clickhouse/tables/sessions.ts";
import { insertQueue } from "@noisefloor/ingest/insert-queue.ts";
import { createSessions, type ReadSessions, retryingSessions } from "@noisefloor/ingest/sessions/sessions.ts";
import { clickhouseSink, insertObservations } from "@noisefloor/ingest/sinks/clickhouse.ts";
import type { RowOptions } from "@noisefloor/ingest/sinks/rows.ts";
import type { IncomingRecord, Sink } from "@noisefloor/ingest/types.ts";

export type DirectSinkOptions = {
  /** A command ends when the store is away for so long. */
  readonly retryForMs: number;
  /** Throws while the store must not grow. */
  readonly assertSpace?: (() => void) | undefined;
  readonly rows?: Omit<RowOptions, "sessions">;
  /** Finds the stored sessions that records add to; without it, in the store. */
  readonly readSessions?: ReadSessions;
};

/** Where a command stores records itself, without the service. */
export function directSink<R extends IncomingRecord>(
  client: ClickHouseClient,
  { retryForMs, assertSpace, rows = {}, readSessions: read }: DirectSinkOptions,
): Sink<R> {
  const queue = insertQueue({ insert: insertObservations(client, assertSpace), retryForMs, lingerMs: 0 });
  const sessions = createSessions(read ?? ((wanted, times) => readSessions(client, wanted, times)));
  return clickhouseSink(queue, { ...rows, sessions: retryingSessions(sessions, { forMs: retryForMs }) });
}
