import { addAbortSignal } from "node:stream";
import type { ClickHouseSettings } from "@clickhouse/client";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import type { z } from "zod";
import type { ClickHouseClient, QuerySql } from "./client.ts";
import { IncompleteResponseError, isRefused, StoreTimeoutError, withoutValues } from "./errors.ts";
import { readBlocks } from "./native.ts";
import { responseRows } from "./response.ts";

/** Several parameters of a query that its definition makes of one value. */
export class ParamGroup {
  readonly params: Readonly<Record<string, unknown>>;
  constructor(params: Readonly<Record<string, unknown>>) {
    this.params = params;
  }
}

function withoutGroups(params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = Object.entries(params).flatMap(([name, value]) =>
    value instanceof ParamGroup ? Object.entries(value.params) : [[name, value] as const],
  );
  return Object.fromEntries(named);
}

/** One read: its SQL, its parameters and the shape of its rows, side by side. Values are bound, never spliced. */
export type QueryDefinition<Params extends z.ZodType, Row extends z.ZodType> = {
  readonly name: string;
  /** It names tables as `table-names.ts` does. */
  readonly sql: QuerySql["sql"];
  /**
   * How the results of several servers become one: SQL that reads them FROM `results`. Each server runs `sql` on the
   * rows that it has. No subquery over observations may stand for a value there: the server that is asked would compute
   * it once, from its own rows, for all. Left out, one server reads the rows of all, which is as exact, and slower.
   */
  readonly combine?: QuerySql["combine"];
  /** With `combine`: what each of several servers runs in place of `sql`. */
  readonly perServer?: QuerySql["perServer"];
  readonly params: Params;
  readonly row: Row;
  /**
   * `Native` where the response has very many values: what the query answers with then are not these but
   * blocks of them, each an object of columns, see {@link readBlocks}. Left out, the response comes as JSON.
   */
  readonly format?: "Native";
  /**
   * For the format Native: called with each block as soon as it has come, before it is known that the
   * response is whole. The query itself then answers with none.
   */
  readonly onBlock?: (block: z.output<Row>) => Promise<void>;
};

export function defineQuery<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  definition: QueryDefinition<Params, Row>,
): QueryDefinition<Params, Row> {
  return definition;
}

/**
 * Runs a query and checks each row against its definition. Rejects with the client's error when the server rejects the
 * query, and with a ZodError when a response does not fit the definition: both are faults of ours, not of a caller.
 */
export function run<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  client: ClickHouseClient,
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
  signal?: AbortSignal,
): Promise<z.output<Row>[]> {
  return send(client, definition, params, { signal });
}

/**
 * The same for a query that always answers with one row.
 * @throws IncompleteResponseError when it does not.
 */
export async function runForOne<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  client: ClickHouseClient,
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
): Promise<z.output<Row>> {
  return onlyRow(definition, await run(client, definition, params));
}

/** The row of a query that always answers with one. @throws IncompleteResponseError when it did not. */
export function onlyRow<Row>({ name }: { readonly name: string }, rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) {
    throw new IncompleteResponseError(`${name}: expected one row, got ${rows.length}`);
  }
  return row;
}

/** Runs a query for a caller who may stop waiting for the answer. */
export type Read = <Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
  signal?: AbortSignal,
) => Promise<z.output<Row>[]>;

export type ReaderOptions = {
  /** The server ends a query that takes longer. */
  readonly maxSeconds: number;
  /** A `background` query pauses, a little at a time, while the server works on one in the foreground. */
  readonly priority?: "foreground" | "background";
  /** Called at the end of each query, with how it ended and after how many seconds. */
  readonly onEnd?: (query: string, outcome: Outcome, seconds: number) => void;
};

/** `refused`: it would have taken more than the limit that it set itself, so that another has to answer. */
type Outcome = "answered" | "cancelled" | "refused" | "failed";

/**
 * Lower numbers go first. How long a query pauses before each block of rows is bounded: many lookups or small
 * inserts one after the other slow large questions down and do not stop them. Four times ClickHouse's usual rows in a
 * block make fewer and longer pauses, in which more of the inserts end. Its threads get no niceness
 * (`os_threads_nice_value_query`): ClickHouse 26.7 crashes where it has CAP_SYS_NICE in a user namespace alone.
 */
const PRIORITIES = {
  foreground: { priority: "1" },
  background: {
    priority: "2",
    low_priority_query_wait_time_ms: 40,
    max_block_size: "262144",
    preferred_block_size_bytes: "4000000",
  },
} as const satisfies Record<string, ClickHouseSettings>;

/** For queries that run side by side: one thread each keeps all processors busy, and leaves the foreground its turn. */
const ONE_THREAD = { max_threads: 1 } as const satisfies ClickHouseSettings;

/** Turns a client into one that only reads. The server stops a query whose signal aborts. */
export function reader(client: ClickHouseClient, { maxSeconds, priority, onEnd = () => {} }: ReaderOptions): Read {
  const settings: ClickHouseSettings = {
    ...(priority && PRIORITIES[priority]),
    max_execution_time: maxSeconds,
    // The server looks for clients that have gone only while it runs a query that can change nothing.
    readonly: "2",
    cancel_http_readonly_queries_on_client_close: 1,
  };
  let running = 0;
  return async (definition, params, signal) => {
    const threads = priority === "background" && running > 0 ? ONE_THREAD : {};
    // A server that no longer answers must not keep its callers waiting either.
    const atMost = AbortSignal.timeout((maxSeconds + 1) * 1_000);
    const ended = signal === undefined ? atMost : AbortSignal.any([signal, atMost]);
    const start = performance.now();
    const { onBlock } = definition;
    /** Milliseconds of the caller's work on blocks. */
    let elsewhere = 0;
    const timed = onBlock && {
      async onBlock(block: Parameters<typeof onBlock>[0]) {
        const begin = performance.now();
        await onBlock(block);
        elsewhere += performance.now() - begin;
      },
    };
    const end = (outcome: Outcome) => onEnd(definition.name, outcome, (performance.now() - start - elsewhere) / 1_000);
    running++;
    try {
      const options = { settings: { ...settings, ...threads }, signal: ended };
      const rows = await send(client, { ...definition, ...timed }, params, options);
      end("answered");
      return rows;
    } catch (error) {
      end(signal?.aborted ? "cancelled" : isRefused(error) ? "refused" : "failed");
      throw atMost.aborted ? new StoreTimeoutError(`no answer within ${maxSeconds} seconds`) : error;
    } finally {
      running--;
    }
  };
}

type SendOptions = { readonly settings?: ClickHouseSettings; readonly signal?: AbortSignal | undefined };

async function send<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  client: ClickHouseClient,
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
  options: SendOptions,
): Promise<z.output<Row>[]> {
  try {
    return await sendBound(client, definition, params, options);
  } catch (error) {
    throw withoutValues(error, definition.name);
  }
}

async function sendBound<Params extends z.ZodType<Record<string, unknown>>, Row extends z.ZodType>(
  client: ClickHouseClient,
  definition: QueryDefinition<Params, Row>,
  params: z.input<Params>,
  { settings, signal }: SendOptions,
): Promise<z.output<Row>[]> {
  const { query, query_params: databases } = client.requestOf(definition);
  const asked = {
    query_params: { ...databases, ...withoutGroups(definition.params.parse(params)) },
    clickhouse_settings: { ...settings, log_comment: definition.name },
    ...(signal === undefined ? {} : { abort_signal: signal }),
  };
  if (definition.format === "Native") {
    const { stream, summary } = await client.exec({ ...asked, query: `${query} FORMAT Native` });
    // The client listens to the signal only until the response begins.
    if (signal !== undefined) addAbortSignal(signal, stream);
    const blocks: z.output<Row>[] = [];
    let rows = 0;
    for await (const block of readBlocks(stream)) {
      signal?.throwIfAborted();
      rows += block.rows;
      const columns = definition.row.parse(block.columns);
      if (definition.onBlock === undefined) blocks.push(columns);
      else await definition.onBlock(columns);
    }
    // The server sends the count before it knows it, as 0, when the answer is longer than its buffer. Such an answer
    // comes in chunks, of which the last one tells that it is whole.
    const isCounted = rows === 0 || summary?.result_rows !== "0";
    if (isCounted && String(rows) !== summary?.result_rows) {
      throw new IncompleteResponseError(`${definition.name}: the response has ${rows} of ${summary?.result_rows} rows`);
    }
    return blocks;
  }
  // One document, whose end can be checked: in JSONEachRow the client silently drops a last line that was cut.
  const result = await client.query({ ...asked, query, format: "JSONCompact" });
  return parseRows(definition.row, await result.text());
}

async function parseRows<Row extends z.ZodType>(row: Row, text: string): Promise<z.output<Row>[]> {
  const parsed: z.output<Row>[] = [];
  for (const piece of responseRows(text)) {
    if (parsed.length > 0) await yieldToEventLoop();
    for (const value of piece) parsed.push(row.parse(value));
  }
  return parsed;
}

/**
 * `YYYY-MM-DD hh:mm:ss.sss` in UTC: the spelling that every ClickHouse reads as DateTime64(3), whatever its settings.
 */
export function toDateTime64(time: number): string {
  const text = new Date(time).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 23)}`;
}
