import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { explainMissingRight, isTransient } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { type BackupAction, BackupError, formatServerError } from "./errors.ts";
import { type BackupPlace, placeToSql } from "./place.ts";

export type BackupOptions = {
  /** Has the server cancel it. */
  readonly signal: AbortSignal;
  /** Called with the bytes done and the bytes in all, as far as the server knows them yet. */
  readonly onProgress?: (done: number, total: number) => void;
};

/** One BACKUP or RESTORE. */
export type Operation = {
  readonly action: BackupAction;
  /** Up to and with TO or FROM. */
  readonly statement: string;
  readonly place: BackupPlace;
  /** Further settings of the statement, as SQL. */
  readonly settings?: readonly string[];
};

const operationState = defineQuery({
  name: "backup-state",
  sql: `SELECT status, error, query_id, total_size, uncompressed_size, bytes_read FROM system.backups
    WHERE id = {id:String}`,
  params: z.object({ id: z.string() }),
  row: z.object({
    status: z.string(),
    error: z.string(),
    query_id: z.string(),
    total_size: z.int(),
    uncompressed_size: z.int(),
    bytes_read: z.int(),
  }),
});
export type OperationState = z.output<typeof operationState.row>;

/** The pause grows between these: a small store is done within milliseconds, a large one within hours. */
const FIRST_POLL_MS = 20;
const MAX_POLL_MS = 250;
/** Failed polls in a row after which the server counts as gone. */
const MAX_FAILED_POLLS = 20;

/**
 * Starts an operation and polls it until it ends.
 * @returns its last state; undefined when it was cancelled.
 * @throws BackupError
 */
export async function runOperation(
  client: ClickHouseClient,
  operation: Operation,
  options: BackupOptions,
): Promise<OperationState | undefined> {
  const { action, statement, place, settings = [] } = operation;
  const id = randomUUID();
  const allSettings = [`id = ${literal(id)}`, ...settings].join(", ");
  try {
    await client.command({ query: `${statement} ${placeToSql(place)} SETTINGS ${allSettings} ASYNC` });
    return await pollUntilEnd(client, id, operation, options);
  } catch (error) {
    // A missing right gets the same message in every command.
    if (!(error instanceof ClickHouseError) || explainMissingRight(error) !== undefined) throw error;
    throw new BackupError(formatServerError(`${error.message} (${error.type ?? ""})`, place, action));
  }
}

async function pollUntilEnd(
  client: ClickHouseClient,
  id: string,
  { action, place }: Operation,
  { signal, onProgress = () => {} }: BackupOptions,
): Promise<OperationState | undefined> {
  let isCancelling = false;
  let pauseMs = FIRST_POLL_MS;
  let failedPolls = 0;
  for (;;) {
    const states = await run(client, operationState, { id }).catch((error: unknown) => {
      failedPolls++;
      if (!isTransient(error) || failedPolls > MAX_FAILED_POLLS) throw error;
      return undefined;
    });
    if (states !== undefined) {
      failedPolls = 0;
      const [state] = states;
      // The server keeps the list in memory alone.
      if (state === undefined) throw new BackupError("the server restarted meanwhile: run it again");
      const { status, error, total_size, uncompressed_size, bytes_read } = state;
      if (status === "BACKUP_CREATED" || status === "RESTORED") return state;
      if (status.endsWith("_CANCELLED")) return undefined;
      if (status.endsWith("_FAILED")) throw new BackupError(formatServerError(error, place, action));
      onProgress(action === "make" ? uncompressed_size : bytes_read, total_size);
      if (signal.aborted && !isCancelling) {
        isCancelling = true;
        await client.command({
          query: "KILL QUERY WHERE query_id = {query_id:String} ASYNC",
          query_params: { query_id: state.query_id },
        });
      }
    }
    await sleep(pauseMs);
    pauseMs = Math.min(2 * pauseMs, MAX_POLL_MS);
  }
}
