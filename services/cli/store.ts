import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client.ts";
import { applyDurability } from "@noisefloor/clickhouse/durability.ts";
import { migrate, readMigrations, requireCurrentSchema } from "@noisefloor/clickhouse/migrate.ts";
import { explainLoss, type OpenClickHouse, type OpenTerms, openClickHouse } from "@noisefloor/clickhouse/open.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/retention.ts";
import { dropAbandoned } from "@noisefloor/clickhouse/working-database.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { MIGRATIONS_DIRECTORY } from "./paths.ts";
import { addStarterTags } from "./reference/starter-tags.ts";

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

/** How a service opens its store: it may have to wait for a command that works without one. */
export function asService(log: Logger, signal: AbortSignal): OpenTerms {
  return { purpose: "service", signal, onWait: warnOfWait(log) };
}

/** How a command does, likewise. @param signal of one that takes the signals itself; others end where they wait. */
export function asCommand(log: Logger, signal?: AbortSignal): OpenTerms {
  return { purpose: "command", onWait: warnOfWait(log), ...(signal && { signal }) };
}

const AS_LOOK: OpenTerms = { purpose: "look" };

function warnOfWait(log: Logger): () => void {
  return () => log.warn("another command works with this data directory: waiting for its end");
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

/** Opens the configured or embedded ClickHouse, brings its schema up to date and sets how long it keeps its data. */
export async function openStore(
  settings: Settings,
  log: Logger,
  right: RetentionRight,
  terms: OpenTerms = asCommand(log),
): Promise<Store> {
  const { server, client, close } = await openConnection(settings, terms);
  try {
    const applied = await migrate(server.connection, MIGRATIONS_DIRECTORY, {
      onApply: ({ version, name }) => log.debug({ version, name }, "migration applied"),
    });
    if (applied.length > 0) log.info({ migrations: applied.length }, "the schema was brought up to date");
    if (right === "set") await dropLeftovers(client, server, log);
    const retentionDays = await settleRetention(client, settings.retentionDays, right, log);
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
    if (databases.length > 0) log.info({ databases }, "what a restore or backup that was killed has left was removed");
  } catch (error) {
    log.debug({ err: error }, "what a restore or backup that was killed has left cannot be removed");
  }
}

/**
 * Opens the store for a service that only reads. A configured server's schema is looked at and left alone, so that such a
 * service can run as a user who may change nothing; the embedded server is our own, and nobody else would bring it up.
 * @throws MigrationError when the schema is not current.
 */
export async function openStoreToRead(settings: Settings, log: Logger, terms: OpenTerms): Promise<Store> {
  if (settings.clickhouse.server === undefined) return openStore(settings, log, "set", terms);
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
  const { server, client, close } = await openConnection(settings, terms);
  try {
    await requireCurrentSchema(client, await readMigrations(MIGRATIONS_DIRECTORY));
    return { server, client, retentionDays: await readRetention(client), close };
  } catch (error) {
    const told = await explainLoss(server, error);
    await close();
    throw told;
  }
}

/** Opens the store for a command that works beside the services, and closes it when the work is done or has failed. */
export async function withStore(
  { settings, log }: { readonly settings: Settings; readonly log: Logger },
  work: (client: ClickHouseClient) => Promise<void>,
): Promise<void> {
  return closingAfter(await openStore(settings, log, "lengthen"), work);
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
  if (tables.length > 0) log.info({ isDurable: wanted, tables }, "whether inserts survive a power cut was changed");
}

/** @param wanted undefined when nobody said anything: then what holds goes on. */
async function settleRetention(
  client: ClickHouseClient,
  wanted: number | undefined,
  right: RetentionRight,
  log: Logger,
): Promise<number> {
  const current = await readRetention(client);
  if (right === "lengthen" && (wanted ?? current) <= current) {
    if (wanted !== undefined && wanted < current) {
      log.warn({ wanted, current }, "the retention is not shortened: only a service or migrate does that");
    }
    return current;
  }
  // Also when the observations have it already: a change that broke off may have left other tables behind.
  const days = wanted ?? current;
  const tables = await applyRetention(client, days);
  if (tables.length > 0) log.info({ from: current, to: days, tables }, "the retention was changed, in days");
  return days;
}
