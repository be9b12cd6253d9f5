/** The numbers of all columns, in their order. */
export function joinColumns(columns: readonly Uint32Array[]): Uint32Array {
  const joined = new Uint32Array(columns.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const column of columns) {
    joined.set(column, end);
    end += column.length;
  }
  return joined;
}
