/** A column's sort key for a row; undefined for a row without a value. */
export type SortValue = string | number | undefined;

const texts = new Intl.Collator("en", { numeric: true });

/** The rows in an order; those without a value come last in both directions, and equal ones stay as they are. */
export function sortRows<Row>(rows: readonly Row[], by: (row: Row) => SortValue, isDescending: boolean): Row[] {
  return [...rows].sort((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    const order = typeof a === "number" && typeof b === "number" ? a - b : texts.compare(String(a), String(b));
    return isDescending ? -order : order;
  });
}
