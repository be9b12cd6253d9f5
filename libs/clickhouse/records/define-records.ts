import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run, runForOne, toDateTime64 } from "../client/query.ts";
import { mutate } from "../mutations/mutate.ts";
import { replaceRows } from "./replace-rows.ts";
import { defineRows, type RowsOptions } from "./rows.ts";

type RecordsOptions<Row extends z.ZodObject> = RowsOptions<Row> & {
  /** When a deleted record is forgotten. Left out, none is ever deleted. */
  readonly forget?: {
    readonly afterDays: number;
    /** SQL: whether a row says that its record is deleted; left out, the engine's `is_deleted`. */
    readonly isDeleted?: string;
    /** SQL: deleted records that stay all the same. */
    readonly unless?: string;
  };
};

/** Bounds one statement; the next call forgets the others. */
const MAX_FORGOTTEN = 10_000;

/**
 * A table in which of the rows with the same id the one with the newest `updated_at` counts: its reads and writes. A
 * table whose records can be deleted is a `ReplacingMergeTree(updated_at, is_deleted)`: `FINAL` hides deleted records.
 */
export function defineRecords<Row extends z.ZodObject>(options: RecordsOptions<Row>) {
  const { table, forget } = options;
  const { idColumn, all, rowOf } = defineRows(options);
  type Stored = Partial<z.input<Row>>;
  const replace = (
    client: ClickHouseClient,
    records: readonly Stored[],
    now: number,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<void> =>
    replaceRows(client, { table, idColumn, rows: records.map((each) => ({ ...rowOf(each), ...more })) }, now);
  return {
    table,
    /** The query of {@link read}. */
    all,
    /** Reads all records but deleted ones. */
    read: (client: ClickHouseClient): Promise<z.output<Row>[]> => run(client, all, {}),
    /** Adds records, or replaces those with the same ids. All must have the same members; others get their defaults. */
    write: (client: ClickHouseClient, records: readonly Stored[], now: number) => replace(client, records, now),
    /** Deletes records. */
    delete: (client: ClickHouseClient, records: readonly Stored[], now: number) =>
      replace(client, records, now, { is_deleted: true }),
    /** Forgets what was deleted long ago. Can be interrupted and repeated. @returns how many records. */
    async forgetDeleted(client: ClickHouseClient, now: number): Promise<number> {
      if (forget === undefined) return 0;
      const { afterDays, isDeleted = "is_deleted", unless = "false" } = forget;
      const isOld = "updated_at < {before:DateTime64(3, 'UTC')}";
      const before = toDateTime64(now - afterDays * DAY_MS);
      // Without FINAL, which would hide them.
      const deleted = defineQuery({
        name: `deleted-${table}`,
        sql: `SELECT toString(${idColumn}) AS id FROM ${table} GROUP BY id
          HAVING argMax(${isDeleted}, updated_at) AND max(updated_at) < {before:DateTime64(3, 'UTC')}
            AND countIf(${unless}) = 0 LIMIT ${MAX_FORGOTTEN}`,
        params: z.object({ before: z.string() }),
        row: z.object({ id: z.string() }),
      });
      const ids = (await run(client, deleted, { before })).map((record) => record.id);
      if (ids.length === 0) return 0;
      // What they replace goes first: without the row that says that it is deleted, an older one would count again.
      for (const condition of [`${isOld} AND NOT ${isDeleted}`, isOld]) {
        const change = `DELETE WHERE toString(${idColumn}) IN {ids:Array(String)} AND ${condition}`;
        await mutate(client, { table, change, params: { ids, before } });
      }
      return ids.length;
    },
  };
}

/**
 * @returns what reads a text that changes whenever one of the tables does. It is made of their whole content, which is
 * small: neither a merge nor another machine's clock can hide a change.
 */
export function defineVersion(tables: readonly string[]) {
  const versions = tables.map(
    (table) => `(SELECT concat(toString(count()), '/', toString(sum(cityHash64(*)))) FROM ${table} FINAL)`,
  );
  const version = defineQuery({
    name: "records-version",
    sql: `SELECT concat(${versions.join(", ' ', ")}, '') AS version`,
    params: z.object({}),
    row: z.object({ version: z.string() }),
  });
  return async (client: ClickHouseClient): Promise<string> => (await runForOne(client, version, {})).version;
}
