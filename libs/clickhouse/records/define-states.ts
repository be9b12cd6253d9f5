import type { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { run } from "../client/query.ts";
import { defineRows, type RowsOptions } from "./rows.ts";

/** A parameter's text must stay below the server's 128 KiB. */
const IDS_PER_QUERY = 4_000;

/**
 * A table of states, in which a time or number of the row itself says which of the rows with the same id is the newest:
 * its reads and writes. For records that people change, see `defineRecords`, where no late clock hides a change.
 */
export function defineStates<Row extends z.ZodObject>(options: RowsOptions<Row>) {
  const { all, byIds, rowOf } = defineRows(options);
  return {
    /** The query of {@link read}. */
    all,
    read: (client: ClickHouseClient): Promise<z.output<Row>[]> => run(client, all, {}),
    /** The states with some ids; without those of which nothing is known. */
    async readByIds(client: ClickHouseClient, ids: readonly string[]): Promise<z.output<Row>[]> {
      const states: z.output<Row>[] = [];
      for (let start = 0; start < ids.length; start += IDS_PER_QUERY) {
        states.push(...(await run(client, byIds, { ids: ids.slice(start, start + IDS_PER_QUERY) })));
      }
      return states;
    },
    async write(client: ClickHouseClient, states: readonly z.input<Row>[]): Promise<void> {
      if (states.length === 0) return;
      await client.insert({ table: options.table, values: states.map(rowOf), format: "JSONEachRow" });
    },
  };
}
