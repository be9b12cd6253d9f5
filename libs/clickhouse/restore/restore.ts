import { z } from "zod";
import { BackupError } from "../backup/errors.ts";
import type { BackupPlace } from "../backup/place.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
import type { ObservationSummary } from "../observations/observations.ts";
import { fillRollups } from "../rollups/fill-rollups.ts";
import { DERIVED_TABLES, TABLES } from "../schema/tables.ts";
import { readUnfinished } from "../schema/unfinished-marker.ts";
import { checkParts } from "./check-parts.ts";
import type { KeyChanges } from "./key-revocations.ts";
import { type LoadOptions, loadBackup } from "./load-backup.ts";
import type { ServerWork } from "./server-work.ts";

export type RestoreStep = "reading" | "checking" | "rebuilding rollups" | "swapping tables";

export type RestoreOptions = LoadOptions & {
  /** Whether to overwrite a store that holds data. */
  readonly replace: boolean;
  /** Called before each step. */
  readonly onStep?: (step: RestoreStep) => void | Promise<void>;
};

export type Restored = ObservationSummary & { readonly keys: KeyChanges };

/** The store holds data, and the caller did not allow to overwrite it. */
export class HoldsDataError extends BackupError {
  override name = "HoldsDataError";
}

type Preparation = {
  readonly step: RestoreStep;
  /** Resolves to false when it was cancelled. */
  readonly run: (work: ServerWork, from: BackupPlace, options: LoadOptions) => Promise<boolean>;
};

/** What makes the tables of a store out of a backup, beside those that it has. */
export const PREPARATIONS: readonly Preparation[] = [
  { step: "reading", run: ({ server, scratch }, from, options) => loadBackup(server, scratch, from, options) },
  { step: "checking", run: ({ prepared }, _from, options) => checkParts(prepared, options) },
  {
    step: "rebuilding rollups",
    run: ({ prepared }, _from, options) => fillRollups(prepared, DERIVED_TABLES, options),
  },
];

/**
 * @param servers that hold the store.
 * @returns what rejects with a HoldsDataError while they hold data that may not be overwritten.
 */
export async function replacementCheck(
  servers: readonly ClickHouseClient[],
  database: string,
  { replace }: Pick<RestoreOptions, "replace">,
): Promise<() => Promise<void>> {
  const unfinished = await Promise.all(servers.map((server) => readUnfinished(server, database)));
  // Data that an interrupted restore has mixed are not worth keeping.
  const mayReplace = replace || unfinished.includes("restore");
  return async () => {
    if (!mayReplace) await assertNoRows(servers, database);
  };
}

const tablesWithRows = defineQuery({
  name: "tables-with-rows",
  sql: `SELECT name, total_rows AS rows FROM system.tables
    WHERE database = {database:String} AND total_rows > 0 AND name IN {tables:Array(String)} ORDER BY name`,
  params: z.object({ database: z.string(), tables: z.array(z.string()) }),
  row: z.object({ name: z.string(), rows: z.int() }),
});

async function assertNoRows(servers: readonly ClickHouseClient[], database: string): Promise<void> {
  const tables = Object.keys(TABLES).filter((name) => name !== "schema_migrations");
  const rowCounts = await Promise.all(servers.map((server) => run(server, tablesWithRows, { database, tables })));
  const rows = new Map<string, number>();
  for (const one of rowCounts.flat()) rows.set(one.name, (rows.get(one.name) ?? 0) + one.rows);
  if (rows.size === 0) return;
  const observations = rows.get("observations") ?? 0;
  if (observations > 0) {
    const count = observations.toLocaleString("en-US");
    throw new HoldsDataError(`the database ${database} already holds ${count} rows of observations`);
  }
  const list = [...rows].map(([name, count]) => `${name} (${count})`).join(", ");
  throw new HoldsDataError(`the database ${database} is not empty: it has rows in ${list}`);
}
