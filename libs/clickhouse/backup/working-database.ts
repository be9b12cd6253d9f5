import { randomBytes } from "node:crypto";
import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
import { isNotThere } from "../client/errors.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { identifier } from "../client/sql-text.ts";

/** A database beside the store's own, in which one command works as long as it lasts. */
export type WorkingDatabase = {
  readonly name: string;
  /** Those of other commands that do the same for this store now. */
  readonly others: readonly string[];
  /** Removes it with everything in it. */
  drop(): Promise<void>;
};

/** Where a command shows that it still works. */
const BEATS = "noisefloor_beats";
const BEAT_MS = 5_000;
/** So long after its last sign of life a command counts as gone. */
const GONE_AFTER_SECONDS = 60;

const serverTime = defineQuery({
  name: "server-time",
  sql: "SELECT toUnixTimestamp(now()) AS now, toUInt32(uptime()) AS uptime",
  params: z.object({}),
  row: z.object({ now: z.int(), uptime: z.int() }),
});

/** Also without a time in their names, as they once were. */
const workingDatabases = defineQuery({
  name: "working-databases",
  sql: `SELECT name, toUInt32OrZero(extract(substring(name, length({prefix:String}) + 1), '^_([0-9]+)_')) AS since
    FROM system.databases
    WHERE startsWith(name, {prefix:String})
      AND match(substring(name, length({prefix:String}) + 1), '^(_[0-9]+_[0-9a-f]+)?$')`,
  params: z.object({ prefix: z.string() }),
  row: z.object({ name: z.string(), since: z.int() }),
});

const lastBeat = (database: string) =>
  defineQuery({
    name: "last-beat",
    sql: `SELECT toUnixTimestamp(max(beaten_at)) AS at FROM ${identifier(database)}.${BEATS}`,
    params: z.object({}),
    row: z.object({ at: z.int() }),
  });

/**
 * Makes a database `<database>_<purpose>_<time>_<random>`, and removes those that commands which were killed have left
 * behind.
 */
export async function openWorkingDatabase(
  server: ClickHouseClient,
  database: string,
  purpose: "restoring" | "backing_up",
): Promise<WorkingDatabase> {
  const prefix = `${database}_${purpose}`;
  const { now } = await readTime(server);
  const name = `${prefix}_${now}_${randomBytes(4).toString("hex")}`;
  await server.command({ query: `CREATE DATABASE ${identifier(name)}` });
  // In memory, so that it is gone with the server, as what the server did for the command is.
  await server.command({
    query: `CREATE TABLE ${identifier(name)}.${BEATS} (beaten_at DateTime DEFAULT now()) ENGINE = Memory`,
  });
  const beat = () => server.command({ query: `INSERT INTO ${identifier(name)}.${BEATS} VALUES (now())` });
  // A beat that is lost because the server is busy is made good by the next.
  const timer = setInterval(() => void beat().catch(() => {}), BEAT_MS);
  timer.unref();
  const drop = async () => {
    clearInterval(timer);
    await dropDatabase(server, name);
  };
  try {
    // Looked for when our own is there: of two that start at once, one sees the other at least.
    const found = (await run(server, workingDatabases, { prefix })).filter((other) => other.name !== name);
    const { alive: others } = await dropGone(server, found);
    return { name, others, drop };
  } catch (error) {
    await drop().catch(() => {});
    throw error;
  }
}

/**
 * Removes what commands that were killed have left beside a database: else it would lie there until the next restore or
 * backup. Not what has no time in its name, which here, where nobody asked for a restore, may be somebody's own.
 * @returns the names of what was removed.
 */
export async function dropAbandoned(server: ClickHouseClient, database: string): Promise<string[]> {
  const all: string[] = [];
  for (const purpose of ["restoring", "backing_up"] as const) {
    const found = await run(server, workingDatabases, { prefix: `${database}_${purpose}` });
    const timed = found.filter(({ since }) => since > 0);
    all.push(...(await dropGone(server, timed)).dropped);
  }
  return all;
}

type Found = z.infer<typeof workingDatabases.row>;

/** Removes those whose command shows no sign of life. @returns which ones, and which are of a command that still works. */
async function dropGone(server: ClickHouseClient, found: readonly Found[]) {
  const [alive, dropped]: [string[], string[]] = [[], []];
  if (found.length === 0) return { alive, dropped };
  const { now, uptime } = await readTime(server);
  for (const { name, since } of found) {
    const seenAt = Math.max(since, await readLastBeat(server, name));
    if (seenAt > now - Math.min(uptime, GONE_AFTER_SECONDS)) {
      alive.push(name);
      continue;
    }
    await dropDatabase(server, name);
    dropped.push(name);
  }
  return { alive, dropped };
}

async function readTime(server: ClickHouseClient): Promise<z.infer<typeof serverTime.row>> {
  return runForOne(server, serverTime, {});
}

/** In seconds since 1970; 0 when there is none. */
async function readLastBeat(server: ClickHouseClient, database: string): Promise<number> {
  const rows = await run(server, lastBeat(database), {}).catch((error: unknown) => {
    if (isNotThere(error)) return [];
    throw error;
  });
  return rows[0]?.at ?? 0;
}

async function dropDatabase(server: ClickHouseClient, name: string): Promise<void> {
  await server.command({
    query: `DROP DATABASE IF EXISTS ${identifier(name)} SYNC`,
    // Else the server takes what is larger than 50 GB for a mistake.
    clickhouse_settings: { max_table_size_to_drop: "0", max_partition_size_to_drop: "0" },
  });
}
