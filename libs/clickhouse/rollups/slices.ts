import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, runForOne } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { readStoredMonths, type StoredMonth } from "../observations/rewrite-observations.ts";

/** Observations of a month whose addresses follow each other. */
export type ObservationSlice = {
  /** SQL: the condition for them. */
  readonly where: string;
  /** The times of the month, in milliseconds since 1970 UTC; `to` exclusive. */
  readonly month: Pick<StoredMonth, "from" | "to">;
  /** About how many there are. */
  readonly rows: number;
};

/** Max rows of a slice, for which the server takes about 0.5 GB. */
const MAX_ROWS = 1_000_000;

/**
 * Cuts the observations of one server into slices of about as many rows each, so that the memory that filling a rollup
 * takes does not grow with the store. By address, as rows are stored in the order of their addresses: a slice is read
 * alone.
 * @param maxRows of a slice, unless one address has more.
 */
export async function sliceObservations(client: ClickHouseClient, maxRows = MAX_ROWS): Promise<ObservationSlice[]> {
  const slices: ObservationSlice[] = [];
  for (const month of await readStoredMonths(client)) {
    const count = Math.ceil(month.rows / maxRows);
    const starts = [0, ...(count > 1 ? await readBounds(client, month, count) : [])];
    for (const [index, first] of starts.entries()) {
      const where = [`_partition_id = ${literal(month.id)}`, ...within(first, starts[index + 1])].join(" AND ");
      slices.push({ where, month, rows: Math.floor(month.rows / starts.length) });
    }
  }
  return slices;
}

/** Addresses, ascending, that cut the rows of a month into about `count` parts of the same size. */
async function readBounds(client: ClickHouseClient, { id }: StoredMonth, count: number): Promise<number[]> {
  const levels = Array.from({ length: count - 1 }, (_, index) => (index + 1) / count);
  const bounds = defineQuery({
    name: "slice-bounds",
    sql: `SELECT quantiles(${levels.join(", ")})(toUInt32(source_ip)) AS addresses FROM ${OBSERVATIONS}
      WHERE _partition_id = {id:String}`,
    params: z.object({ id: z.string() }),
    row: z.object({ addresses: z.array(z.number()) }),
  });
  const { addresses } = await runForOne(client, bounds, { id });
  return [...new Set(addresses.map(Math.floor))].filter((address) => address > 0).sort((one, other) => one - other);
}

/** SQL conditions; the end is exclusive, and without one the slice is the last of its month. */
function within(first: number, end: number | undefined): string[] {
  return [
    ...(first > 0 ? [`source_ip >= toIPv4(toUInt32(${first}))`] : []),
    ...(end === undefined ? [] : [`source_ip < toIPv4(toUInt32(${end}))`]),
  ];
}
