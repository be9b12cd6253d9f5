import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { explainMissingRight } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";

/** Whether tables are as they were for a while. */
export type Quiet = {
  readonly isQuiet: boolean;
  /** When the store was asked, in milliseconds of `performance.now()`. */
  readonly askedAt: number;
};

/** @returns a question of whether these tables are quiet, to be asked again and again. */
export type TableChanges = (tables: readonly string[]) => () => Promise<Quiet>;

const partsVersions = defineQuery({
  name: "parts-versions",
  sql: `SELECT table, toString(groupBitXor(cityHash64(name, hash_of_all_files))) AS version FROM system.parts
    WHERE database = currentDatabase() AND active AND table IN {tables:Array(String)} GROUP BY table`,
  params: z.object({ tables: z.array(z.string()) }),
  row: z.object({ table: z.string(), version: z.string() }),
});

export type TableChangesOptions = {
  /** All questions within this time share one query, of all tables. */
  readonly sharedForMs?: number;
  /**
   * A table counts as changed for this long: what is read after a change may come from a server of a cluster that does
   * not have it yet.
   */
  readonly settleMs?: number;
};

/**
 * Asks which tables have changed by the names and hashes of their parts, for all callers in one query, so that an idle
 * service does not read small tables again and again. A merge counts as a change, too.
 */
export function watchTableChanges(
  client: ClickHouseClient,
  { sharedForMs = 1_500, settleMs = 30_000 }: TableChangesOptions = {},
): TableChanges {
  const watched = new Set<string>();
  let latest: { readonly askedAt: number; readonly versions: ReturnType<typeof readVersions> } | undefined;

  const readVersions = async (): Promise<ReadonlyMap<string, string> | undefined> => {
    try {
      const rows = await run(client, partsVersions, { tables: [...watched] });
      return new Map(rows.map(({ table, version }) => [table, version]));
    } catch (error) {
      // A user who may read the tables need not be allowed to read of their parts.
      if (explainMissingRight(error) !== undefined) return undefined;
      throw error;
    }
  };
  const ask = () => {
    const askedAt = performance.now();
    if (latest === undefined || askedAt - latest.askedAt > sharedForMs) latest = { askedAt, versions: readVersions() };
    return latest;
  };
  return (tables) => {
    for (const table of tables) watched.add(table);
    let lastVersion: string | undefined;
    let changedAt = 0;
    return async () => {
      const { askedAt, versions } = ask();
      const byTable = await versions;
      // No store is without parts: this user is not shown them.
      if (byTable === undefined || byTable.size === 0) return { isQuiet: false, askedAt };
      const version = tables.map((table) => byTable.get(table) ?? "").join(" ");
      if (version !== lastVersion) {
        lastVersion = version;
        changedAt = askedAt;
      }
      return { isQuiet: askedAt - changedAt > settleMs, askedAt };
    };
  };
}
