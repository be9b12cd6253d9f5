import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readSessions } from "@noisefloor/clickhouse/tables/sessions.ts";
import type { IncomingRecord, Sink } from "@noisefloor/ingest/record.ts";
import type { RowOptions } from "@noisefloor/ingest/rows/make-rows.ts";
import { createSessions, retryingSessions } from "@noisefloor/ingest/rows/sessions/sessions.ts";
import { clickhouseSink, insertObservations } from "@noisefloor/ingest/store/insert.ts";
import { insertQueue } from "@noisefloor/ingest/store/insert-queue.ts";
import { openInsertQueue } from "@noisefloor/ingest/store/sharded-queue.ts";

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
