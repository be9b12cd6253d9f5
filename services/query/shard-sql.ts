/** The answers of all shards side by side: an address is on one shard, so no two of them have a row for the same. */
export function allRows(shards: string): string {
  return `SELECT * FROM ${shards}`;
}
