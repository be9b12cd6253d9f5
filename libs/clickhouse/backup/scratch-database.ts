import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { type ClickHouseConnection, connect, LONG_REQUEST_MS } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";
import { BackupError } from "./errors.ts";
import { acquireServerLock } from "./server-lock.ts";

/** A database beside the store's own, in which one restore prepares its tables. */
export type ScratchDatabase = {
  /** Drops it and lets the next restore of this store begin. */
  close(): Promise<void>;
};

/** Marks the database as ours: a user may have one of the same name. */
const COMMENT = "Scratch of a Noisefloor restore";

export const scratchNameOf = (database: string) => `${database}_restoring`;
/** Held while a process exchanges tables of a store. */
export const exchangeLock = (database: string) => `noisefloor-restore-${database}`;

const databaseComment = defineQuery({
  name: "database-comment",
  sql: "SELECT comment FROM system.databases WHERE name = {name:String}",
  params: z.object({ name: z.string() }),
  row: z.object({ comment: z.string() }),
});

/**
 * Makes the scratch database, after dropping one that a restore which was killed has left.
 * @throws BackupError while another restore of the same store runs.
 */
export async function openScratchDatabase(connection: ClickHouseConnection): Promise<ScratchDatabase> {
  const release = await acquireServerLock(connection, exchangeLock(connection.database));
  if (release === undefined)
    throw new BackupError(
      "another restore of this store is running, or its tags are being reapplied: wait for the end",
    );
  const server = connect({ ...connection, database: "default" }, "noisefloor-restore", LONG_REQUEST_MS);
  const name = scratchNameOf(connection.database);
  const close = async () => {
    try {
      await dropDatabase(server, name);
    } finally {
      await server.close();
      await release();
    }
  };
  try {
    if ((await dropOurs(server, name)) === "foreign") {
      throw new BackupError(
        `a restore needs the database name ${name}, which another database has: rename or drop that one`,
      );
    }
    await server.command({ query: `CREATE DATABASE ${identifier(name)} COMMENT ${literal(COMMENT)}` });
    return { close };
  } catch (error) {
    await server.close();
    await release();
    throw error;
  }
}

/**
 * Drops the scratch database that a restore which was killed has left: else its space would be taken until the next
 * one.
 * @returns the name of the database that was dropped, if any.
 */
export async function dropAbandonedScratch(connection: ClickHouseConnection): Promise<string | undefined> {
  const server = connect({ ...connection, database: "default" }, "noisefloor-restore");
  const name = scratchNameOf(connection.database);
  try {
    if ((await run(server, databaseComment, { name })).length === 0) return undefined;
    const release = await acquireServerLock(connection, exchangeLock(connection.database));
    if (release === undefined) return undefined;
    try {
      return (await dropOurs(server, name)) === "dropped" ? name : undefined;
    } finally {
      await release();
    }
  } finally {
    await server.close();
  }
}

async function dropOurs(server: ClickHouseClient, name: string): Promise<"none" | "foreign" | "dropped"> {
  const [found] = await run(server, databaseComment, { name });
  if (found === undefined) return "none";
  if (found.comment !== COMMENT) return "foreign";
  await dropDatabase(server, name);
  return "dropped";
}

async function dropDatabase(server: ClickHouseClient, name: string): Promise<void> {
  await server.command({
    query: `DROP DATABASE IF EXISTS ${identifier(name)} SYNC`,
    // Without these the server does not drop a table of more than 50 GB, as a likely mistake.
    clickhouse_settings: { max_table_size_to_drop: "0", max_partition_size_to_drop: "0" },
  });
}
