import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client.ts";
import { migrate, readMigrations, requireCurrentSchema } from "@noisefloor/clickhouse/migrate.ts";
import { type OpenClickHouse, openClickHouse } from "@noisefloor/clickhouse/open.ts";
import { applyRetention, readRetention } from "@noisefloor/clickhouse/retention.ts";
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
 * may make the time longer but not shorter: data deleted because a shell lacked a variable would be gone for good. A
 * command that tells of the retention leaves it as it is.
 */
export type RetentionRight = "set" | "lengthen" | "leave";

async function openConnection({ clickhouse }: Settings) {
  const server = await openClickHouse(clickhouse);
  const client = connect(server.connection, "noisefloor");
  const close = async () => {
    await client.close();
    await server.close();
  };
  return { server, client, close };
}

/** Opens the configured or embedded ClickHouse, brings its schema up to date and sets how long it keeps its data. */
export async function openStore(settings: Settings, log: Logger, right: RetentionRight): Promise<Store> {
  const { server, client, close } = await openConnection(settings);
  try {
    const applied = await migrate(server.connection, MIGRATIONS_DIRECTORY, ({ version, name }) =>
      log.debug({ version, name }, "migration applied"),
    );
    if (applied.length > 0) log.info({ migrations: applied.length }, "the schema was brought up to date");
    const retentionDays = await settleRetention(client, settings.retentionDays, right, log);
    const tags = await addStarterTags(client, Date.now());
    if (tags > 0) log.info({ tags }, "tags of the starter catalogue were added");
    return { server, client, retentionDays, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Opens the store for a service that only reads. A configured server's schema is looked at and left alone, so that such a
 * service can run as a user who may change nothing; the embedded server is our own, and nobody else would bring it up.
 * @throws MigrationError when the schema is not current.
 */
export async function openStoreToRead(settings: Settings, log: Logger): Promise<Store> {
  if (settings.clickhouse.server === undefined) return openStore(settings, log, "set");
  const { server, client, close } = await openConnection(settings);
  try {
    await requireCurrentSchema(client, await readMigrations(MIGRATIONS_DIRECTORY));
    const retentionDays = await readRetention(client);
    const wanted = settings.retentionDays ?? retentionDays;
    if (wanted !== retentionDays) {
      log.warn({ wanted, current: retentionDays }, "the retention is left as it is: the intake or migrate sets it");
    }
    return { server, client, retentionDays, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the store for a command that works beside the services, and closes it when the work is done or has failed. */
export async function withStore(
  { settings, log }: { readonly settings: Settings; readonly log: Logger },
  work: (client: ClickHouseClient) => Promise<void>,
): Promise<void> {
  const store = await openStore(settings, log, "lengthen");
  try {
    await work(store.client);
  } finally {
    await store.close();
  }
}

/** @param wanted undefined when nobody said anything: then what holds goes on. */
async function settleRetention(
  client: ClickHouseClient,
  wanted: number | undefined,
  right: RetentionRight,
  log: Logger,
): Promise<number> {
  const current = await readRetention(client);
  if (wanted === undefined || wanted === current || right === "leave") {
    // A table that came with an update keeps its rows for as long as its migration says, and not as all the others do.
    if (right === "set") await applyRetention(client, current);
    return current;
  }
  if (wanted < current && right === "lengthen") {
    log.warn({ wanted, current }, "the retention is not shortened: only a service or migrate does that");
    return current;
  }
  await applyRetention(client, wanted);
  log.info({ from: current, to: wanted }, "the retention was changed, in days");
  return wanted;
}
