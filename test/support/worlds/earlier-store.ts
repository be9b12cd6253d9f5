import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { createDistributedTables } from "@noisefloor/clickhouse-cluster/schema/distributed-tables.ts";
import { serversOf } from "@noisefloor/clickhouse-cluster/store.ts";
import { dropDatabase } from "./databases.ts";
import type { World } from "./world.ts";

const EARLIER = fileURLToPath(new URL("../../fixtures/earlier-migrations.sql", import.meta.url));
const FILE = /^-- file (\S+)\n/m;

/** Makes a world's database anew, empty, as the version before the current migrations made it. */
export async function makeEarlierStore({ client, connection }: World): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-earlier-"));
  try {
    const [, ...parts] = (await readFile(EARLIER, "utf8")).split(FILE);
    for (let index = 0; index < parts.length; index += 2) {
      await writeFile(join(folder, parts[index] ?? ""), parts[index + 1] ?? "");
    }
    await dropDatabase(client, connection.database);
    // Without the views for dashboards of today, which read newer tables.
    for (const server of await serversOf(connection)) {
      await migrate(server, folder);
      if (connection.cluster !== undefined) await createDistributedTables(server, connection.cluster);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}
