import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { type ClickHouseClient, type ClickHouseConnection, connect } from "../client/connect.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { identifier } from "../client/sql-text.ts";
import { MigrationError, migrate, readApplied, readMigrations, tablesOf, viewsOf } from "../schema/migrate.ts";
import { AGEING_TABLES, applyRetention, readRetention } from "../schema/retention.ts";
import { BackupError, type BackupPlace, type BackupTerms, restoreInto } from "./backup.ts";

export type ReadBackupTerms = BackupTerms & {
  /** The folder of our migrations. */
  readonly migrations: string;
  /** Keeps what the backup holds for so long, when it was made to be kept for less. */
  readonly retentionDays?: number | undefined;
};

/**
 * Reads a backup into a database of its own and migrates it to our schema. Only what Noisefloor has made is read: a view
 * of somebody's own would fire for every row, and a table of their own may read from elsewhere. Nothing that has aged
 * since the backup is deleted meanwhile.
 * @returns whether it was read; false when it was cancelled.
 * @throws BackupError
 */
export async function readBackup(
  server: ClickHouseClient,
  beside: ClickHouseConnection,
  from: BackupPlace,
  terms: ReadBackupTerms,
): Promise<boolean> {
  const read = (names: readonly string[], parts: "all" | "definitions" | "data") =>
    restoreInto(server, beside.database, names, from, { ...terms, parts });
  const client = connect(beside, "noisefloor-restore");
  try {
    // What the backup holds of ours is known only by what it says of its migrations.
    if (!(await read(["schema_migrations"], "all").catch(refuseStrange))) return false;
    const applied = await readApplied(client, await readMigrations(terms.migrations)).catch(refuseMisfit);
    const tables = tablesOf(applied);
    const definitions = [...tables, ...viewsOf(applied)];
    if (!(await read(definitions, "definitions"))) return false;
    for (const table of tables) await client.command({ query: `SYSTEM STOP TTL MERGES ${identifier(table)}` });
    if (!(await read(tables, "data"))) return false;
    await migrate(beside, terms.migrations).catch(refuseMisfit);
    return await keepForLonger(client, terms);
  } finally {
    await client.close();
  }
}

function refuseStrange(error: unknown): never {
  if (error instanceof BackupError && error.message.includes("schema_migrations")) {
    throw new BackupError("the backup is none of Noisefloor: its tables are missing", { cause: error });
  }
  throw error;
}

function refuseMisfit(error: unknown): never {
  if (!(error instanceof MigrationError)) throw error;
  throw new BackupError(`the backup does not fit this version of Noisefloor: ${error.message}`, { cause: error });
}

const openMutations = defineQuery({
  name: "open-mutations",
  sql: `SELECT count() AS open, any(latest_fail_reason) AS failure FROM system.mutations
    WHERE database = currentDatabase() AND NOT is_done`,
  params: z.object({}),
  row: z.object({ open: z.int(), failure: z.string() }),
});

const LOOK_MS = 100;

/** A part knows when its rows end, so it must be told before it comes where such parts are dropped. */
async function keepForLonger(
  client: ClickHouseClient,
  { retentionDays = 0, signal }: ReadBackupTerms,
): Promise<boolean> {
  if (retentionDays <= (await readRetention(client))) return true;
  await applyRetention(client, retentionDays);
  for (;;) {
    const mutations = await runForOne(client, openMutations, {});
    if (mutations.open === 0) return true;
    if (mutations.failure !== "") {
      throw new BackupError(`the backup cannot be kept for ${retentionDays} days: ${mutations.failure}`);
    }
    if (signal.aborted) return false;
    await sleep(LOOK_MS);
  }
}

/** The observations of a database; times in milliseconds since 1970 UTC, undefined when there are none. */
export type HeldObservations = {
  /** What replaces each other counts once. */
  readonly observations: number;
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly retentionDays: number;
  /** So many of them are older than that: the next merges delete them. */
  readonly outlived: number;
};

/** @param client of a database whose parts are no longer merged. */
export async function countObservations(client: ClickHouseClient): Promise<HeldObservations> {
  const retentionDays = await readRetention(client);
  const held = defineQuery({
    name: "held-observations",
    sql: `SELECT count() AS observations, countIf(${AGEING_TABLES.observations.ttl(retentionDays)} <= now()) AS outlived,
        toUnixTimestamp64Milli(min(observed_at)) AS oldest, toUnixTimestamp64Milli(max(observed_at)) AS newest
      FROM observations FINAL`,
    params: z.object({}),
    row: z.object({ observations: z.int(), outlived: z.int(), oldest: z.int(), newest: z.int() }),
  });
  const { observations, outlived, oldest, newest } = await runForOne(client, held, {});
  if (observations === 0) {
    return { observations: 0, from: undefined, to: undefined, retentionDays, outlived: 0 };
  }
  return { observations, from: oldest, to: newest, retentionDays, outlived };
}
