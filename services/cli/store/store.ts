import { resolve } from "node:path";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { isUnknownTable, StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { holdsStore } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { formatEnd } from "@noisefloor/clickhouse/embedded/embedded-restart.ts";
import { assertCurrentSchema, readApplied, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import {
  explainLoss,
  type OpenClickHouse,
  type OpenOptions,
  openClickHouse,
} from "@noisefloor/clickhouse/server/open.ts";
import { readRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { assertPlacement } from "@noisefloor/clickhouse-cluster/schema/placement.ts";
import { connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { MIGRATIONS_DIRECTORY } from "../paths.ts";

/** A ClickHouse that is ready for use. */
export type Store = {
  readonly server: OpenClickHouse;
  readonly client: ClickHouseClient;
  /** How long it keeps its observations. */
  readonly retentionDays: number;
  close(): Promise<void>;
};

export type Context = { readonly settings: Settings; readonly log: Logger };

/** For a service, which waits for a command that runs its own server over the data directory. */
export function asService(context: Context, signal: AbortSignal): OpenOptions {
  return { purpose: "service", signal, onWait: warnOfWait(context), onRestart: logRestarts(context) };
}

/** For a command, likewise. @param signal of a command that handles Ctrl-C itself; others end where they wait. */
export function asCommand(context: Context, signal?: AbortSignal): OpenOptions {
  return {
    purpose: "command",
    onWait: warnOfWait(context),
    onRestart: logRestarts(context),
    ...(signal && { signal }),
  };
}

const READ_ONLY: OpenOptions = { purpose: "look" };

function warnOfWait({ settings, log }: Context): () => void {
  const dataDir = resolve(settings.clickhouse.dataDir);
  return () => log.warn({ dataDir }, "another command uses the data directory, waiting for it to end");
}

const MAKE_ONE = '"noisefloor start" or "noisefloor migrate" makes one';

/**
 * For a command, which may have been called in another folder or with other settings than the services: an empty store
 * that it made would answer "none" to every question.
 * @throws StoreError when there is no store yet.
 */
export async function assertStoreExists({ clickhouse }: Settings): Promise<void> {
  if (clickhouse.server !== undefined || (await holdsStore(clickhouse.dataDir))) return;
  const dataDir = resolve(clickhouse.dataDir);
  throw new StoreError(`there is no store in the data directory ${dataDir}: ${MAKE_ONE}, or set DATA_DIR to yours`);
}

/** @throws StoreError when a server that answers has no database or no schema. */
async function assertSchemaExists({ clickhouse }: Settings, client: ClickHouseClient): Promise<void> {
  await readApplied(client, await readMigrations(MIGRATIONS_DIRECTORY)).catch((error: unknown) => {
    if (!isUnknownTable(error)) throw error;
    const { server } = clickhouse;
    throw new StoreError(
      server === undefined
        ? `there is no store in the data directory ${resolve(clickhouse.dataDir)}: ${MAKE_ONE}`
        : `the database ${server.database} of ClickHouse at ${server.url} has no schema yet: run "noisefloor migrate", as a user who may create tables`,
    );
  });
}

/** Logs each unexpected end and restart of the embedded server. */
function logRestarts({ log }: Context): NonNullable<OpenOptions["onRestart"]> {
  return (logFile) => ({
    onExit: (end, retryInMs) => log.error({ ...end, logFile, retryInMs }, `${formatEnd(end)}; starting it again`),
    onFailedStart: (error, retryInMs) =>
      log.error({ err: error, logFile, retryInMs }, "the embedded ClickHouse did not start; retrying"),
    onRestart: (downMs) => log.warn({ downMs: Math.round(downMs) }, "the embedded ClickHouse answers again"),
  });
}

export async function openConnection({ clickhouse }: Settings, options: OpenOptions) {
  const server = await openClickHouse(clickhouse, options);
  const client = connectStore(server.connection, "noisefloor");
  const close = async () => {
    await client.close();
    await server.close();
  };
  return { server, client, close };
}

/**
 * Opens the store without changing its schema, its retention or its tags: for every command but `start`, `ingest` and
 * `migrate`.
 * @throws MigrationError when the schema is not current; StoreError when a cluster has addresses on two shards.
 */
export async function openPreparedStore(settings: Settings, options: OpenOptions = READ_ONLY): Promise<Store> {
  await assertStoreExists(settings);
  const { server, client, close } = await openConnection(settings, options);
  try {
    await assertSchemaExists(settings, client);
    await assertCurrentSchema(client, await readMigrations(MIGRATIONS_DIRECTORY));
    await assertPlacement(client);
    return { server, client, retentionDays: await readRetention(client), close };
  } catch (error) {
    const explained = await explainLoss(server, error);
    await close();
    throw explained;
  }
}

/** Opens the store for a command that writes, and closes it when the work has ended. */
export async function withStore(context: Context, work: (client: ClickHouseClient) => Promise<void>): Promise<void> {
  return closingAfter(await openPreparedStore(context.settings, asCommand(context)), work);
}

/** The same for a command that only reads, which does not wait for the end of another command. */
export async function withStoreToRead(
  { settings }: { readonly settings: Settings },
  work: (client: ClickHouseClient) => Promise<void>,
): Promise<void> {
  return closingAfter(await openPreparedStore(settings), work);
}

/** Does a command's work with an open store and closes it. */
export async function closingAfter(store: Store, work: (client: ClickHouseClient) => Promise<void>): Promise<void> {
  try {
    await work(store.client);
  } catch (error) {
    throw await explainLoss(store.server, error);
  } finally {
    await store.close();
  }
}
