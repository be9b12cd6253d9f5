import type { ClickHouseClient, ClickHouseSettings } from "@clickhouse/client";
import { z } from "zod";
import { answerRows } from "./answer.ts";
import { IncompleteAnswerError, StoreTimeoutError } from "./errors.ts";

/** One read: its SQL, what it takes and what a row of its answer is, side by side. Values are bound, never spliced. */
export type QueryDefinition<Params extends z.ZodType, Row extends z.ZodType> = {
  readonly name: string;
  readonly sql: string;
  readonly params: Params;
  readonly row: Row;
};

export function defineQuery<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  definition: QueryDefinition<Params, Row>,
): QueryDefinition<Params, Row> {
  return definition;
}

/**
 * Runs a query and checks each row against its definition. Rejects with the client's error when the server refuses,
 * and with a ZodError when an answer is not what the definition says: both are ours to mend, never a caller's fault.
 */
export function run<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  client: ClickHouseClient,
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
): Promise<z.output<Row>[]> {
  return ask(client, definition, params, {});
}

/**
 * The same for a query that always answers with one row.
 * @throws IncompleteAnswerError when it does not.
 */
export async function runForOne<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  client: ClickHouseClient,
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
): Promise<z.output<Row>> {
  const [row, ...more] = await run(client, definition, params);
  if (row === undefined || more.length > 0) {
    throw new IncompleteAnswerError(
      `${definition.name}: expected one row, got ${row === undefined ? 0 : more.length + 1}`,
    );
  }
  return row;
}

/** Asks a query on behalf of somebody who may stop waiting for the answer. */
export type Read = <Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
  signal?: AbortSignal,
) => Promise<z.output<Row>[]>;

export type ReadTerms = {
  /** How long the server works on a query at most before it refuses it. */
  readonly maxSeconds: number;
  /** A `background` query pauses, a little at a time, while the server works on one in the foreground. */
  readonly priority?: "foreground" | "background";
  /** Hears how each query ended, after how many seconds. */
  readonly onEnd?: (query: string, outcome: "answered" | "cancelled" | "failed", seconds: number) => void;
};

/**
 * Lower numbers go first. How long a query pauses before each block of rows is bounded: many lookups one after the other
 * slow large questions down and do not stop them.
 */
const PRIORITIES = {
  foreground: { priority: "1" },
  background: { priority: "2", low_priority_query_wait_time_ms: 50 },
} as const satisfies Record<string, ClickHouseSettings>;

/** Makes a client into one that reads and nothing else. The server stops a query whose signal aborts. */
export function reader(client: ClickHouseClient, { maxSeconds, priority, onEnd = () => {} }: ReadTerms): Read {
  const settings: ClickHouseSettings = {
    ...(priority && PRIORITIES[priority]),
    max_execution_time: maxSeconds,
    // The server looks for clients that have gone only while it runs a query that can change nothing.
    readonly: "2",
    cancel_http_readonly_queries_on_client_close: 1,
  };
  return async (definition, params, signal) => {
    // Also a server that no longer answers at all must not hold its callers longer than it may work.
    const atMost = AbortSignal.timeout((maxSeconds + 1) * 1_000);
    const ended = signal === undefined ? atMost : AbortSignal.any([signal, atMost]);
    const start = performance.now();
    const end = (outcome: "answered" | "cancelled" | "failed") =>
      onEnd(definition.name, outcome, (performance.now() - start) / 1_000);
    try {
      const rows = await ask(client, definition, params, { settings, signal: ended });
      end("answered");
      return rows;
    } catch (error) {
      end(signal?.aborted ? "cancelled" : "failed");
      throw atMost.aborted ? new StoreTimeoutError(`no answer within ${maxSeconds} seconds`) : error;
    }
  };
}

async function ask<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  client: ClickHouseClient,
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
  { settings, signal }: { readonly settings?: ClickHouseSettings; readonly signal?: AbortSignal | undefined },
): Promise<z.output<Row>[]> {
  const result = await client.query({
    query: definition.sql,
    query_params: definition.params.parse(params),
    // One document whose end shows: of JSONEachRow the client drops a last line that was cut, without an error.
    format: "JSONCompact",
    clickhouse_settings: { ...settings, log_comment: definition.name },
    ...(signal === undefined ? {} : { abort_signal: signal }),
  });
  return z.array(definition.row).parse(answerRows(await result.text()));
}

/** `YYYY-MM-DD hh:mm:ss.sss` in UTC: the spelling that every ClickHouse reads as DateTime64(3), whatever its settings. */
export function toDateTime64(time: number): string {
  return new Date(time).toISOString().replace("T", " ").slice(0, 23);
}
