/** The rows of all shards. An address is on one shard, so each address has rows of one shard alone. */
export function allRows(shards: string): string {
  return `SELECT * FROM ${shards}`;
}
