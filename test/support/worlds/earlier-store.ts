import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { createDistributedTables } from "@noisefloor/clickhouse-cluster/schema/distributed-tables.ts";
import { serversOf } from "@noisefloor/clickhouse-cluster/store.ts";
import { dropDatabase, MIGRATIONS } from "./databases.ts";
import type { World } from "./world.ts";

/** The first migration that an earlier store lacks: it makes a rollup of what is stored. */
export const FIRST_MISSING = 22;

/** Makes a world's database anew, empty, with some of the migrations. */
export async function makeEarlierStore({ client, connection }: World): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-earlier-"));
  try {
    const isEarlier = (path: string) => path === MIGRATIONS || Number(basename(path).slice(0, 4)) < FIRST_MISSING;
    await cp(MIGRATIONS, folder, { recursive: true, filter: isEarlier });
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
