import { z } from "zod";
import { BackupError } from "../backup/errors.ts";
import { acquireStoreLock, type ExclusiveWork, holdStoreLock } from "../backup/server-lock.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { type ClickHouseConnection, connect, LONG_REQUEST_MS } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";

/** A database beside the store's own, in which one restore prepares its tables or one backup links those it copies. */
export type ScratchDatabase = {
  readonly name: string;
  /** Drops it and lets the next one of this store begin. */
  close(): Promise<void>;
};

/** `comment` marks the database as ours: a user may have one of the same name. */
const PURPOSES = {
  restore: {
    suffix: "_restoring",
    comment: "Scratch of a Noisefloor restore",
  },
  backup: {
    suffix: "_backing_up",
    comment: "Scratch of a Noisefloor backup",
  },
} as const satisfies Record<ExclusiveWork, object>;

export const scratchNameOf = (database: string, purpose: ExclusiveWork = "restore") =>
  `${database}${PURPOSES[purpose].suffix}`;

const databaseComment = defineQuery({
  name: "database-comment",
  sql: "SELECT comment FROM system.databases WHERE name = {name:String}",
  params: z.object({ name: z.string() }),
  row: z.object({ comment: z.string() }),
});

/**
 * Makes the scratch database, after dropping one that a command which was killed has left.
 * @throws StoreError while another process holds the store's lock, or when the database's name is taken.
 */
export async function openScratchDatabase(
  connection: ClickHouseConnection,
  purpose: ExclusiveWork = "restore",
): Promise<ScratchDatabase> {
  const { comment } = PURPOSES[purpose];
  const release = await holdStoreLock(connection, purpose);
  const server = connect({ ...connection, database: "default" }, "noisefloor-scratch", LONG_REQUEST_MS);
  const name = scratchNameOf(connection.database, purpose);
  const close = async () => {
    try {
      await dropDatabase(server, name);
    } finally {
      await server.close();
      await release();
    }
  };
  try {
    if ((await dropOurs(server, name, comment)) === "foreign") {
      throw new BackupError(
        `a ${purpose} needs the database name ${name}, which another database has: rename or drop that one`,
      );
    }
    await server.command({ query: `CREATE DATABASE ${identifier(name)} COMMENT ${literal(comment)}` });
    return { name, close };
  } catch (error) {
    await server.close();
    await release();
    throw error;
  }
}

/**
 * Drops the scratch databases that commands which were killed have left: else their space would be taken until the next
 * ones.
 * @returns the names of the databases that were dropped.
 */
export async function dropAbandonedScratch(connection: ClickHouseConnection): Promise<string[]> {
  const server = connect({ ...connection, database: "default" }, "noisefloor-scratch");
  const dropped: string[] = [];
  try {
    for (const purpose of ["restore", "backup"] as const) {
      const name = scratchNameOf(connection.database, purpose);
      const { comment } = PURPOSES[purpose];
      if ((await run(server, databaseComment, { name })).length === 0) continue;
      const release = await acquireStoreLock(connection, purpose);
      if (release === undefined) continue;
      try {
        if ((await dropOurs(server, name, comment)) === "dropped") dropped.push(name);
      } finally {
        await release();
      }
    }
    return dropped;
  } finally {
    await server.close();
  }
}

async function dropOurs(
  server: ClickHouseClient,
  name: string,
  comment: string,
): Promise<"none" | "foreign" | "dropped"> {
  const [found] = await run(server, databaseComment, { name });
  if (found === undefined) return "none";
  if (found.comment !== comment) return "foreign";
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
