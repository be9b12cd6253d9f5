import { z } from "zod";
import { askServers } from "./ask-servers.ts";
import type { ClickHouseClient } from "./client.ts";
import { defineQuery, run } from "./query.ts";

const databaseId = defineQuery({
  name: "database-id",
  sql: "SELECT toString(uuid) AS id FROM system.databases WHERE name = currentDatabase()",
  params: z.object({}),
  row: z.object({ id: z.string() }),
});

/** Another text once a database was made anew, on any server of a cluster; a restore keeps it. */
export async function readStoreIdentity(client: ClickHouseClient): Promise<string> {
  const ids = await askServers(client, async (server) => (await run(server, databaseId, {})).map(({ id }) => id));
  return ids.flat().join(" ");
}
