import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { isUnknownTable, StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { holdsStore } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { dropAbandonedScratch } from "@noisefloor/clickhouse/restore/scratch-database.ts";
import { readDefinitions } from "@noisefloor/clickhouse/schema/definitions.ts";
import { applyDurability } from "@noisefloor/clickhouse/schema/durability.ts";
import { explainLoss, type OpenClickHouse, type OpenOptions } from "@noisefloor/clickhouse/server/open.ts";
import {
  applyRetention,
  DEFAULT_RETENTION_DAYS,
  parseRetention,
  readRetention,
} from "@noisefloor/clickhouse/storage/retention.ts";
import { readLoss } from "@noisefloor/clickhouse/storage/retention-loss.ts";
import { assertPlacement } from "@noisefloor/clickhouse-cluster/schema/placement.ts";
import { migrateStore, serversOf } from "@noisefloor/clickhouse-cluster/store.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { addStarterNetworks } from "../networks/starter-networks.ts";
import { MIGRATIONS_DIRECTORY } from "../paths.ts";
import { addTagsOfFiles } from "../tags/starter-tags.ts";
import { formatLoss, isMuch } from "./retention-loss.ts";
import { asCommand, type Context, openConnection, openPreparedStore, type Store } from "./store.ts";

/** A store that was brought up to date. */
export type PreparedStore = Store & {
  /** What was added or changed: the versions of migrations, and how many starter tags and lists of networks. */
  readonly prepared: { readonly migrations: readonly number[]; readonly tags: number; readonly networks: number };
};

/** Throws unless the user confirms. @param effect what would be deleted, as a sentence without its full stop. */
export type ConfirmLoss = (effect: string, days: number) => Promise<void>;

/** Throws when what the user wants needs a longer retention. Called before anything is changed. */
export type AssertRetention = (days: number) => void;

export type PrepareOptions = {
  /** Called before a shorter retention deletes more than a tenth of what is stored; by default a setting confirms it. */
  readonly confirmLoss?: ConfirmLoss;
  readonly assertRetention?: AssertRetention | undefined;
};

function confirmBySetting({ retentionConfirm }: Settings): ConfirmLoss {
  return async (effect, days) => {
    if (retentionConfirm === days) return;
    throw new StoreError(`${effect}. Set RETENTION_CONFIRM=${days} if that is intended, or change RETENTION_DAYS`);
  };
}

/**
 * Opens the configured or embedded ClickHouse for `start`, `ingest` or `migrate`. Only these prepare a store: they
 * create a missing one, bring its schema up to date, set its retention and durability, and add the tags and the lists
 * of benign networks that a new store starts with.
 */
export async function openStore(
  context: Context,
  options: OpenOptions = asCommand(context),
  { confirmLoss = confirmBySetting(context.settings), assertRetention }: PrepareOptions = {},
): Promise<PreparedStore> {
  const { settings, log } = context;
  const isNew = settings.clickhouse.server === undefined && !(await holdsStore(settings.clickhouse.dataDir));
  const wanted = settings.retentionDays ?? (isNew ? DEFAULT_RETENTION_DAYS : undefined);
  if (wanted !== undefined) assertRetention?.(wanted);
  const { server, client, close } = await openConnection(settings, options);
  try {
    if (wanted === undefined) assertRetention?.(await readStoredRetention(client));
    const applied = await migrateStore(server.connection, MIGRATIONS_DIRECTORY, {
      onApply: ({ version, name }) => log.debug({ version, name }, "migration applied"),
      dashboardWorkspaces: settings.grafanaWorkspaces,
      onFill: logFill(log),
    });
    if (applied.length > 0) log.info({ migrations: applied.length }, "the schema was brought up to date");
    await assertPlacement(client);
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

const FILL_LOG_MS = 5_000;

/** Logs how far filling rollups is: after the first slice, then every few seconds, and at its end. */
function logFill(log: Logger): (done: number, total: number) => void {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (done, total) => {
    if (done < total && performance.now() - loggedAt < FILL_LOG_MS) return;
    loggedAt = performance.now();
    log.info({ done, total }, "filling rollups with the observations that are stored");
  };
}

/** Works before the migration, and for a database that has no tables yet. */
async function readStoredRetention(client: ClickHouseClient): Promise<number> {
  const definitions = await readDefinitions(client, ["observations"]).catch((error: unknown) => {
    if (isUnknownTable(error)) return new Map<string, string>();
    throw error;
  });
  return parseRetention(definitions.get("observations") ?? "") ?? DEFAULT_RETENTION_DAYS;
}

/** Frees what restores and backups that were killed have left. Nothing depends on it, so a failure is only logged. */
async function dropLeftovers({ connection }: OpenClickHouse, log: Logger): Promise<void> {
  try {
    for (const server of await serversOf(connection)) {
      for (const database of await dropAbandonedScratch(server)) {
        log.info({ database }, "dropped what an interrupted restore or backup had left");
      }
    }
  } catch (error) {
    log.debug({ err: error }, "cannot drop what an interrupted restore or backup had left");
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
