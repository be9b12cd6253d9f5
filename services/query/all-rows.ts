/** The rows of several servers' results: all those of an address are in one of them. */
export function allRows(results: string): string {
  return `SELECT * FROM ${results}`;
}
