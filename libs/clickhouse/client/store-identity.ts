import { z } from "zod";
import { askServers } from "./ask-servers.ts";
import type { ClickHouseClient } from "./client.ts";
import { defineQuery, runForOne } from "./query.ts";

const databaseId = defineQuery({
  name: "database-id",
  sql: "SELECT toString(uuid) AS id FROM system.databases WHERE name = currentDatabase()",
  params: z.object({}),
  row: z.object({ id: z.string() }),
});

/** Another text once a database was made anew, on any server of a cluster; a restore keeps it. */
export async function readStoreIdentity(client: ClickHouseClient): Promise<string> {
  const ids = await askServers(client, (server) => runForOne(server, databaseId, {}));
  return ids.map(({ id }) => id).join(" ");
}
