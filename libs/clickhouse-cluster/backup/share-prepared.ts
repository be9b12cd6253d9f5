import type { ServerWork } from "@noisefloor/clickhouse/restore/server-work.ts";
import { SPREAD_TABLES, TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { createShared, linkParts, syncReplicas } from "../replicas/tables.ts";

/** A server that has prepared its shard's tables, and the other replicas of the shard. */
type PreparedShard = ServerWork & { readonly others: readonly ServerWork[] };

const sharedName = (table: string) => `${table}_shared`;

/** The tables of the scratch databases of a shard that are to be the store's, by the names of those. */
export function preparedNames({ others }: Pick<PreparedShard, "others">): ReadonlyMap<string, string> {
  const isShared = (table: string) => others.length > 0 && SPREAD_TABLES.includes(table);
  return new Map(Object.keys(TABLES).map((table) => [table, isShared(table) ? sharedName(table) : table]));
}

/**
 * Gives the other replicas of a shard the tables that one of them has prepared, as replicated ones. Of a shard with one
 * server there is nothing to do.
 */
export async function sharePrepared(shard: PreparedShard, scratch: string): Promise<void> {
  if (shard.others.length === 0) return;
  const all = [shard, ...shard.others];
  const replicas = all.map(({ live, connection }) => ({ client: live, name: new URL(connection.url).hostname }));
  for (const table of SPREAD_TABLES) {
    const [own, shared] = [
      { database: scratch, table },
      { database: scratch, table: sharedName(table) },
    ];
    await createShared(replicas, table, { client: shard.prepared, place: own }, shared);
    await linkParts(shard.prepared, own, shared);
  }
  await syncReplicas(
    all.map(({ live }) => live),
    SPREAD_TABLES.map(sharedName),
    scratch,
  );
}
