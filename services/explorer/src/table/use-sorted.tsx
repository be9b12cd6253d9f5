import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { type Heading, TableHead, textOf } from "../shell/table-head.tsx";
import { type SortValue, sortRows } from "./sort-rows.ts";

export type Column<Row> = {
  readonly heading: Heading;
  /** Without it, rows cannot be sorted by the column. */
  readonly by?: (row: Row) => SortValue;
};

/** Columns of numbers start with the highest, all others with the first. */
type Order = { readonly heading: string; readonly isDescending: boolean };

/**
 * The rows as the reader sorts them, with the table's head, whose headings are buttons; until one is used, the rows are
 * as they came.
 */
export function useSorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): { readonly sorted: readonly Row[]; readonly head: VNode } {
  const [order, setOrder] = useState<Order>();
  const by = columns.find(({ heading }) => textOf(heading) === order?.heading)?.by;
  const isDescending = order?.isDescending ?? false;
  const sorted = by === undefined ? rows : sortRows(rows, by, isDescending);
  const sort = {
    isSortable: (heading: string) => columns.some((one) => textOf(one.heading) === heading && one.by !== undefined),
    directionOf: (heading: string) =>
      heading !== order?.heading ? undefined : isDescending ? ("descending" as const) : ("ascending" as const),
    toggle: (heading: Heading) => {
      const text = textOf(heading);
      setOrder((last) => ({
        heading: text,
        isDescending: last?.heading === text ? !last.isDescending : typeof heading !== "string",
      }));
    },
  };
  return { sorted, head: <TableHead headings={columns.map(({ heading }) => heading)} sort={sort} /> };
}
