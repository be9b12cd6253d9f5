import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client.ts";
import { migrate } from "@noisefloor/clickhouse/migrate.ts";
import { type OpenClickHouse, openClickHouse } from "@noisefloor/clickhouse/open.ts";
import { applyRetention } from "@noisefloor/clickhouse/retention.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { MIGRATIONS_DIRECTORY } from "./paths.ts";
import { addStarterTags } from "./reference/starter-tags.ts";

/** A ClickHouse that is ready for use. */
export type Store = {
  readonly server: OpenClickHouse;
  readonly client: ClickHouseClient;
  close(): Promise<void>;
};

/** Opens the configured or embedded ClickHouse, brings its schema up to date and sets how long it keeps its data. */
export async function openStore(settings: Settings, log: Logger): Promise<Store> {
  const server = await openClickHouse(settings.clickhouse);
  const client = connect(server.connection, "noisefloor");
  const close = async () => {
    await client.close();
    await server.close();
  };
  try {
    const applied = await migrate(server.connection, MIGRATIONS_DIRECTORY, ({ version, name }) =>
      log.debug({ version, name }, "migration applied"),
    );
    const changed = await applyRetention(client, settings.retentionDays);
    const tags = await addStarterTags(client, Date.now());
    if (applied.length > 0) log.info({ migrations: applied.length }, "the schema was brought up to date");
    if (applied.length === 0 && changed.length > 0) {
      log.info({ days: settings.retentionDays, tables: changed }, "the retention was changed");
    }
    if (tags > 0) log.info({ tags }, "tags of the starter catalogue were added");
    return { server, client, close };
  } catch (error) {
    await close();
    throw error;
  }
}
