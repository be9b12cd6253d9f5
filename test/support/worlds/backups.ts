import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBackup } from "@noisefloor/cli/commands/backup/backup.ts";
import { runRestore } from "@noisefloor/cli/commands/backup/restore.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { z } from "zod";
import { commandOver } from "./commands.ts";
import { withoutCompiling } from "./databases.ts";
import { storeContents } from "./store-contents.ts";
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

/** The content of a world's tables, but for the list of backups, into which one comes after it was made. */
export async function contentsOf(of: World) {
  const { backups: _, ...contents } = await storeContents(of.client);
  return contents;
}

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
