import { resolve } from "node:path";
import { dropAbandoned } from "@noisefloor/clickhouse/backup/working-database.ts";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { isNotThere, StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { applyDurability } from "@noisefloor/clickhouse/schema/durability.ts";
import { migrate, readApplied, readMigrations, requireCurrentSchema } from "@noisefloor/clickhouse/schema/migrate.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/schema/retention.ts";
import { readLoss } from "@noisefloor/clickhouse/schema/retention-loss.ts";
import { holdsStore } from "@noisefloor/clickhouse/server/embedded.ts";
import {
  explainLoss,
  type OpenClickHouse,
  type OpenTerms,
  openClickHouse,
} from "@noisefloor/clickhouse/server/open.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { MIGRATIONS_DIRECTORY } from "./paths.ts";
import { addStarterTags } from "./reference/starter-tags.ts";
import { describeLoss, isMuch } from "./retention-loss.ts";

/** A ClickHouse that is ready for use. */
export type Store = {
  readonly server: OpenClickHouse;
  readonly client: ClickHouseClient;
  /** How long it keeps its observations. */
  readonly retentionDays: number;
  close(): Promise<void>;
};

/**
 * Who may change how long data are kept. A service says what holds from now on; a command that merely works beside it
 * may make the time longer but not shorter: data deleted because a shell lacked a variable would be gone for good.
 */
export type RetentionRight = "set" | "lengthen";

type Context = { readonly settings: Settings; readonly log: Logger };

/** Throws unless it is meant. @param effect what would be deleted, as a sentence without its full stop. */
export type ConfirmLoss = (effect: string, days: number) => Promise<void>;

function confirmedBySetting({ retentionConfirm }: Settings): ConfirmLoss {
  return async (effect, days) => {
    if (retentionConfirm === days) return;
    throw new StoreError(`${effect}. Set RETENTION_CONFIRM=${days} if that is meant, or change RETENTION_DAYS`);
  };
}

/** How a service opens its store: it may have to wait for a command that works without one. */
export function asService(context: Context, signal: AbortSignal): OpenTerms {
  return { purpose: "service", signal, onWait: warnOfWait(context), onRestart: logRestarts(context) };
}

/** How a command does, likewise. @param signal of one that takes the signals itself; others end where they wait. */
export function asCommand(context: Context, signal?: AbortSignal): OpenTerms {
  return {
    purpose: "command",
    onWait: warnOfWait(context),
    onRestart: logRestarts(context),
    ...(signal && { signal }),
  };
}

const AS_LOOK: OpenTerms = { purpose: "look" };

function warnOfWait({ settings, log }: Context): () => void {
  const dataDir = resolve(settings.clickhouse.dataDir);
  return () => log.warn({ dataDir }, "another command uses the data directory, waiting for it to end");
}

const MAKE_ONE = '"noisefloor start" or "noisefloor migrate" makes one';

/**
 * Of a command that was called in another folder, or with other settings, than the services: an empty store that it made
 * would answer "none" to every question. @throws StoreError when there is no store yet.
 */
export async function assertStoreExists({ clickhouse }: Settings): Promise<void> {
  if (clickhouse.server !== undefined || (await holdsStore(clickhouse.dataDir))) return;
  const dataDir = resolve(clickhouse.dataDir);
  throw new StoreError(`there is no store in the data directory ${dataDir}: ${MAKE_ONE}, or set DATA_DIR to yours`);
}

/** The same for a server that is there. @throws StoreError when it has no database or no schema. */
async function assertSchemaExists({ clickhouse }: Settings, client: ClickHouseClient): Promise<void> {
  await readApplied(client, await readMigrations(MIGRATIONS_DIRECTORY)).catch((error: unknown) => {
    if (!isNotThere(error)) throw error;
    const { server } = clickhouse;
    throw new StoreError(
      server === undefined
        ? `there is no store in the data directory ${resolve(clickhouse.dataDir)}: ${MAKE_ONE}`
        : `the database ${server.database} of ClickHouse at ${server.url} has no schema yet: run "noisefloor migrate", as a user who may create tables`,
    );
  });
}

/** Says of an embedded server that ended unasked how it ended, where its log is, and what becomes of it. */
function logRestarts({ log }: Context): NonNullable<OpenTerms["onRestart"]> {
  return (logFile) => ({
    onExit: ({ code, signal }, retryInMs) =>
      log.error({ code, signal, logFile, retryInMs }, "the embedded ClickHouse ended; starting it again"),
    onFailedStart: (error, retryInMs) =>
      log.error({ err: error, logFile, retryInMs }, "the embedded ClickHouse did not start; retrying"),
    onRestart: (downMs) => log.warn({ downMs: Math.round(downMs) }, "the embedded ClickHouse answers again"),
  });
}

async function openConnection({ clickhouse }: Settings, terms: OpenTerms) {
  const server = await openClickHouse(clickhouse, terms);
  const client = connect(server.connection, "noisefloor");
  const close = async () => {
    await client.close();
    await server.close();
  };
  return { server, client, close };
}

/**
 * Opens the configured or embedded ClickHouse, brings its schema up to date and sets how long it keeps its data. Only who
 * has the right to set that also makes a store where there is none.
 * @param confirmLoss called before a shorter retention deletes more than a tenth of what is stored.
 */
export async function openStore(
  context: Context,
  right: RetentionRight,
  terms: OpenTerms = asCommand(context),
  confirmLoss: ConfirmLoss = confirmedBySetting(context.settings),
): Promise<Store> {
  const { settings, log } = context;
  if (right !== "set") await assertStoreExists(settings);
  const { server, client, close } = await openConnection(settings, terms);
  try {
    if (right !== "set") await assertSchemaExists(settings, client);
    const applied = await migrate(server.connection, MIGRATIONS_DIRECTORY, {
      onApply: ({ version, name }) => log.debug({ version, name }, "migration applied"),
    });
    if (applied.length > 0) log.info({ migrations: applied.length }, "the schema was brought up to date");
    if (right === "set") await dropLeftovers(client, server, log);
    const retentionDays = await settleRetention(client, settings.retentionDays, right, log, confirmLoss);
    if (right === "set") await settleDurability(client, settings.isDurable, log);
    const tags = await addStarterTags(client, Date.now());
    if (tags > 0) log.info({ tags }, "tags of the starter catalogue were added");
    return { server, client, retentionDays, close };
  } catch (error) {
    const told = await explainLoss(server, error);
    await close();
    throw told;
  }
}

/** Room that a restore or backup which was killed has left taken. Nothing depends on it, so nothing fails by it. */
async function dropLeftovers(client: ClickHouseClient, { connection }: OpenClickHouse, log: Logger): Promise<void> {
  try {
    const databases = await dropAbandoned(client, connection.database);
    if (databases.length > 0) log.info({ databases }, "removed what an interrupted restore or backup had left");
  } catch (error) {
    log.debug({ err: error }, "cannot remove what an interrupted restore or backup had left");
  }
}

/**
 * Opens the store for a service that only reads. A configured server's schema is looked at and left alone, so that such a
 * service can run as a user who may change nothing; the embedded server is our own, and nobody else would bring it up.
 * @throws MigrationError when the schema is not current.
 */
export async function openStoreToRead(context: Context, terms: OpenTerms): Promise<Store> {
  const { settings, log } = context;
  if (settings.clickhouse.server === undefined) return openStore(context, "set", terms);
  const store = await openStoreAsItIs(settings, terms);
  const { retentionDays } = store;
  const wanted = settings.retentionDays ?? retentionDays;
  if (wanted !== retentionDays) {
    log.warn({ wanted, current: retentionDays }, "the retention is left as it is: the intake or migrate sets it");
  }
  return store;
}

/**
 * Opens the store for somebody who looks and changes nothing: neither its schema nor its retention nor its tags.
 * @throws MigrationError when the schema is not current.
 */
export async function openStoreAsItIs(settings: Settings, terms: OpenTerms = AS_LOOK): Promise<Store> {
  await assertStoreExists(settings);
  const { server, client, close } = await openConnection(settings, terms);
  try {
    await assertSchemaExists(settings, client);
    await requireCurrentSchema(client, await readMigrations(MIGRATIONS_DIRECTORY));
    return { server, client, retentionDays: await readRetention(client), close };
  } catch (error) {
    const told = await explainLoss(server, error);
    await close();
    throw told;
  }
}

/** Opens the store for a command that works beside the services, and closes it when the work is done or has failed. */
export async function withStore(context: Context, work: (client: ClickHouseClient) => Promise<void>): Promise<void> {
  return closingAfter(await openStore(context, "lengthen"), work);
}

/** The same for a command that looks and changes nothing. */
export async function withStoreAsItIs(
  { settings }: { readonly settings: Settings },
  work: (client: ClickHouseClient) => Promise<void>,
): Promise<void> {
  return closingAfter(await openStoreAsItIs(settings), work);
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

/** @param wanted undefined when nobody said anything: then what holds goes on. */
async function settleDurability(client: ClickHouseClient, wanted: boolean | undefined, log: Logger): Promise<void> {
  if (wanted === undefined) return;
  const tables = await applyDurability(client, wanted);
  if (tables.length > 0) log.info({ isDurable: wanted, tables }, "changed whether inserts survive a power cut");
}

/** @param wanted undefined when nobody said anything: then what holds goes on. */
async function settleRetention(
  client: ClickHouseClient,
  wanted: number | undefined,
  right: RetentionRight,
  log: Logger,
  confirmLoss: ConfirmLoss,
): Promise<number> {
  const current = await readRetention(client);
  if (right === "lengthen" && (wanted ?? current) <= current) {
    if (wanted !== undefined && wanted < current) {
      log.warn(
        { wanted, current },
        "RETENTION_DAYS is shorter than the retention; only a service or migrate shortens it",
      );
    }
    return current;
  }
  // Also when the observations have it already: a change that broke off may have left other tables behind.
  const days = wanted ?? current;
  if (days < current) {
    const losses = await readLoss(client, current, days);
    if (isMuch(losses)) await confirmLoss(describeLoss(losses, current, days), days);
  }
  const tables = await applyRetention(client, days);
  if (tables.length > 0) log.info({ from: current, to: days, tables }, "retention changed, in days");
  return days;
}
