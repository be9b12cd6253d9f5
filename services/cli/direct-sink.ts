import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readSessions } from "@noisefloor/clickhouse/tables/sessions.ts";
import { insertQueue } from "@noisefloor/ingest/insert-queue.ts";
import { createSessions, retryingSessions } from "@noisefloor/ingest/sessions/sessions.ts";
import { openInsertQueue } from "@noisefloor/ingest/sharded-queue.ts";
import { clickhouseSink, insertObservations } from "@noisefloor/ingest/sinks/clickhouse.ts";
import type { RowOptions } from "@noisefloor/ingest/sinks/rows.ts";
import type { IncomingRecord, Sink } from "@noisefloor/ingest/types.ts";

export type DirectSinkOptions = {
  /** A command ends when the store is away for so long. */
  readonly retryForMs: number;
  /** Throws while the store must not grow. */
  readonly assertSpace?: (() => void) | undefined;
  readonly rows?: Omit<RowOptions, "sessions">;
};

/** Where a command stores records itself, without the service. */
export function directSink<R extends IncomingRecord>(
  client: ClickHouseClient,
  { retryForMs, assertSpace, rows = {} }: DirectSinkOptions,
): Sink<R> {
  const openQueue = (server: ClickHouseClient) =>
    insertQueue({ insert: insertObservations(server, assertSpace), retryForMs, intervalMs: 0 });
  const queue = openInsertQueue(client, openQueue, { forMs: retryForMs });
  const sessions = createSessions((wanted, times) => readSessions(client, wanted, times));
  return clickhouseSink(queue, { ...rows, sessions: retryingSessions(sessions, { forMs: retryForMs }) });
}
