import { z } from "zod";
import { askServers } from "./ask-servers.ts";
import type { ClickHouseClient } from "./client.ts";
import { defineQuery, run } from "./query.ts";
import { literal } from "./sql-text.ts";

const databaseId = defineQuery({
  name: "database-id",
  sql: "SELECT toString(uuid) AS id FROM system.databases WHERE name = currentDatabase()",
  params: z.object({}),
  row: z.object({ id: z.string() }),
});

/**
 * SQL: another number once a restore or a removal has exchanged one of these tables. Replicas have different UUIDs and the
 * same path in Keeper, the first text of the engine's definition.
 */
export const tablesIdentity = (tables: readonly string[]) => `(
  SELECT groupBitXor(cityHash64(name, if(engine LIKE 'Replicated%', extract(engine_full, '\\'([^\\']+)\\''), toString(uuid))))
  FROM system.tables WHERE database = currentDatabase() AND name IN (${tables.map(literal)}))`;

/** Another text once a database was made anew, on any server of a cluster; a restore keeps it. */
export async function readStoreIdentity(client: ClickHouseClient): Promise<string> {
  const ids = await askServers(client, async (server) => (await run(server, databaseId, {})).map(({ id }) => id));
  return ids.flat().join(" ");
}
