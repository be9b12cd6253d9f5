import { resolve } from "node:path";
import { dropAbandonedScratch } from "@noisefloor/clickhouse/backup/scratch-database.ts";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { isUnknownTable, StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { applyDurability } from "@noisefloor/clickhouse/schema/durability.ts";
import { assertCurrentSchema, migrate, readApplied, readMigrations } from "@noisefloor/clickhouse/schema/migrate.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/schema/retention.ts";
import { readLoss } from "@noisefloor/clickhouse/schema/retention-loss.ts";
import { holdsStore } from "@noisefloor/clickhouse/server/embedded.ts";
import { formatEnd } from "@noisefloor/clickhouse/server/embedded-restart.ts";
import {
  explainLoss,
  type OpenClickHouse,
  type OpenOptions,
  openClickHouse,
} from "@noisefloor/clickhouse/server/open.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { MIGRATIONS_DIRECTORY } from "./paths.ts";
import { addStarterNetworks } from "./reference/starter-networks.ts";
import { addTagsOfFiles } from "./reference/starter-tags.ts";
import { formatLoss, isMuch } from "./retention-loss.ts";

/** A ClickHouse that is ready for use. */
export type Store = {
  readonly server: OpenClickHouse;
  readonly client: ClickHouseClient;
  /** How long it keeps its observations. */
  readonly retentionDays: number;
  close(): Promise<void>;
};

/** A store that was brought up to date. */
export type PreparedStore = Store & {
  /** What was added or changed: the versions of migrations, and how many starter tags and lists of networks. */
  readonly prepared: { readonly migrations: readonly number[]; readonly tags: number; readonly networks: number };
};

type Context = { readonly settings: Settings; readonly log: Logger };

/** Throws unless the user confirms. @param effect what would be deleted, as a sentence without its full stop. */
export type ConfirmLoss = (effect: string, days: number) => Promise<void>;

function confirmBySetting({ retentionConfirm }: Settings): ConfirmLoss {
  return async (effect, days) => {
    if (retentionConfirm === days) return;
    throw new StoreError(`${effect}. Set RETENTION_CONFIRM=${days} if that is intended, or change RETENTION_DAYS`);
  };
}

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

async function openConnection({ clickhouse }: Settings, options: OpenOptions) {
  const server = await openClickHouse(clickhouse, options);
  const client = connect(server.connection, "noisefloor");
  const close = async () => {
    await client.close();
    await server.close();
  };
  return { server, client, close };
}

/**
 * Opens the configured or embedded ClickHouse for `start`, `ingest` or `migrate`, which alone prepare a store: they
 * make one where there is none, bring its schema up to date, set its retention and durability, and add what a new store
 * starts with: tags, and lists of benign networks.
 * @param confirmLoss called before a shorter retention deletes more than a tenth of what is stored.
 */
export async function openStore(
  context: Context,
  options: OpenOptions = asCommand(context),
  confirmLoss: ConfirmLoss = confirmBySetting(context.settings),
): Promise<PreparedStore> {
  const { settings, log } = context;
  const { server, client, close } = await openConnection(settings, options);
  try {
    const applied = await migrate(server.connection, MIGRATIONS_DIRECTORY, {
      onApply: ({ version, name }) => log.debug({ version, name }, "migration applied"),
    });
    if (applied.length > 0) log.info({ migrations: applied.length }, "the schema was brought up to date");
    await dropLeftovers(server, log);
    const retentionDays = await setRetention(client, settings.retentionDays, log, confirmLoss);
    await setDurability(client, settings.isDurable, log);
    const tags = await addTagsOfFiles(client, settings, Date.now());
    if (tags > 0) log.info({ tags }, "tags of the starter catalogue and of TAG_RULES_DIR were added or changed");
    const networks = await addStarterNetworks(client);
    if (networks > 0) log.info({ lists: networks }, "starter lists of benign services and scan operators were added");
    const prepared = { migrations: applied.map(({ version }) => version), tags, networks };
    return { server, client, retentionDays, prepared, close };
  } catch (error) {
    const explained = await explainLoss(server, error);
    await close();
    throw explained;
  }
}

/** Frees what a restore that was killed has left. Nothing depends on it, so a failure is only logged. */
async function dropLeftovers({ connection }: OpenClickHouse, log: Logger): Promise<void> {
  try {
    const database = await dropAbandonedScratch(connection);
    if (database !== undefined) log.info({ database }, "dropped what an interrupted restore had left");
  } catch (error) {
    log.debug({ err: error }, "cannot drop what an interrupted restore had left");
  }
}

/**
 * Opens the store for a service that only reads. It leaves a configured server as it is, so that the service can run as
 * a user who may change nothing; the embedded server has no other service to prepare it.
 * @throws MigrationError when the schema is not current.
 */
export async function openStoreToRead(context: Context, options: OpenOptions): Promise<Store> {
  const { settings, log } = context;
  if (settings.clickhouse.server === undefined) return openStore(context, options);
  const store = await openPreparedStore(settings, options);
  const { retentionDays } = store;
  const wanted = settings.retentionDays ?? retentionDays;
  if (wanted !== retentionDays) {
    log.warn({ wanted, current: retentionDays }, "the retention is left as it is: the intake or migrate sets it");
  }
  return store;
}

/**
 * Opens the store without changing its schema, its retention or its tags: for every command but `start`, `ingest` and
 * `migrate`.
 * @throws MigrationError when the schema is not current.
 */
export async function openPreparedStore(settings: Settings, options: OpenOptions = READ_ONLY): Promise<Store> {
  await assertStoreExists(settings);
  const { server, client, close } = await openConnection(settings, options);
  try {
    await assertSchemaExists(settings, client);
    await assertCurrentSchema(client, await readMigrations(MIGRATIONS_DIRECTORY));
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

/** @param wanted undefined when no setting says it: then the store stays as it is. */
async function setDurability(client: ClickHouseClient, wanted: boolean | undefined, log: Logger): Promise<void> {
  if (wanted === undefined) return;
  const tables = await applyDurability(client, wanted);
  if (tables.length > 0) log.info({ isDurable: wanted, tables }, "changed whether inserts survive a power cut");
}

/** @param wanted undefined when no setting says it: then the current retention stays. */
async function setRetention(
  client: ClickHouseClient,
  wanted: number | undefined,
  log: Logger,
  confirmLoss: ConfirmLoss,
): Promise<number> {
  const current = await readRetention(client);
  const days = wanted ?? current;
  if (days < current) {
    const losses = await readLoss(client, current, days);
    if (isMuch(losses)) await confirmLoss(formatLoss(losses, current, days), days);
  }
  // Also when the observations have it already: a change that was interrupted may have left other tables behind.
  const tables = await applyRetention(client, days);
  if (tables.length > 0) log.info({ from: current, to: days, tables }, "retention changed, in days");
  return days;
}
