import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBackup } from "@noisefloor/cli/commands/backup.ts";
import { runRestore } from "@noisefloor/cli/commands/restore.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { startEmbedded } from "@noisefloor/clickhouse/server/embedded.ts";
import { z } from "zod";
import { commandOver } from "./commands.ts";
import { withoutCompiling } from "./databases.ts";
import type { World } from "./world.ts";

/** A server of a test file's own, on this machine, where its backups are files. */
export type BackupServer = {
  readonly connection: ClickHouseConnection;
  /** The path of a backup of this name. */
  place(name: string): string;
  close(): Promise<void>;
};

export async function startBackupServer(): Promise<BackupServer> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-backups-"));
  const server = await startEmbedded(join(folder, "data"));
  return {
    connection: { ...server.connection, url: withoutCompiling(server.connection.url) },
    place: (name) => join(folder, name),
    async close() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The number that a query of a world's database returns. */
export async function numberOf(of: World, sql: string): Promise<number> {
  const asked = defineQuery({
    name: "test-number",
    sql: `SELECT toUInt32((${sql})) AS number`,
    params: z.object({}),
    row: z.object({ number: z.int() }),
  });
  return (await run(of.client, asked, {}))[0]?.number ?? -1;
}

/** Runs `noisefloor backup` over a world. @returns what it printed. */
export async function backUpWorld(of: World, place: string): Promise<string> {
  const command = commandOver(of);
  await runBackup(place, command);
  return command.lines.join("\n");
}

/** Runs `noisefloor restore` over a world. @returns what it printed. */
export async function restoreWorld(into: World, place: string, replace = true): Promise<string> {
  const command = commandOver(into);
  await runRestore(place, { replace }, command);
  return command.lines.join("\n");
}

const contents = defineQuery({
  name: "test-contents",
  sql: `SELECT 'observations' AS name, count() AS rows, toString(sum(cityHash64(toString(tuple(*))))) AS hash FROM observations FINAL
    UNION ALL SELECT 'activity', count(), toString(sum(cityHash64(tag_id, dataset, workspace_id, hour, finalizeAggregation(addresses)))) FROM tag_activity_hourly FINAL
    UNION ALL SELECT 'addresses', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM tag_addresses FINAL
    UNION ALL SELECT 'tagged', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM address_tags FINAL
    UNION ALL SELECT 'networks', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM address_networks FINAL
    UNION ALL SELECT 'dead-letters', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM dead_letters FINAL
    UNION ALL SELECT 'ranges', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM network_ranges FINAL
    UNION ALL SELECT 'keys', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM api_keys FINAL`,
  params: z.object({}),
  row: z.object({ name: z.string(), rows: z.int(), hash: z.string() }),
});
/** The content of a world's tables, whatever parts it is in. */
export const contentsOf = async (of: World) =>
  (await run(of.client, contents, {})).sort((one, another) => (one.name < another.name ? -1 : 1));

const scratchDatabases = defineQuery({
  name: "test-scratch-databases",
  sql: "SELECT name FROM system.databases WHERE name LIKE '%\\_restoring' ORDER BY name",
  params: z.object({}),
  row: z.object({ name: z.string() }),
});

/** The scratch databases of restores on a world's server. */
export async function readScratchDatabases(of: World): Promise<string[]> {
  return (await run(of.client, scratchDatabases, {})).map(({ name }) => name);
}
