import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { clusterOf, shardsOf } from "@noisefloor/clickhouse/cluster/cluster.ts";
import { readOwnShards } from "@noisefloor/clickhouse/cluster/servers.ts";
import { shardOfAddress } from "@noisefloor/clickhouse/cluster/shard.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { type BackoffOptions, retry } from "../retry.ts";
import type { InsertQueue, RejectedRow } from "./insert-queue.ts";

/** Its address says on which shard it is. */
type WithSource = { readonly source_ip: string };

/**
 * The queue of a client's server; of a cluster's client a queue for each shard, at a server of the shard's own. Not
 * through a Distributed table: when a shard was killed during such an insert and the insert was repeated with its
 * token, a rollup lacked rows that the observations had. That never happened with an insert straight to the server.
 * @param open opens the queue of one server.
 * @param retrying how long to ask for the list of the shards, which is read with the first rows.
 */
export function openInsertQueue<Row extends WithSource>(
  client: ClickHouseClient,
  open: (server: ClickHouseClient) => InsertQueue<Row>,
  retrying: BackoffOptions,
): InsertQueue<Row> {
  if (clusterOf(client) === undefined) return open(client);
  const openShards = async () => {
    const shardOf = shardOfAddress((await readOwnShards(client)) ?? []);
    return shardedQueue((await shardsOf(client)).map(open), shardOf);
  };
  let opened: Promise<InsertQueue<Row>> | undefined;
  return {
    async store(rows, bytes, options) {
      opened ??= retry(openShards, retrying);
      const queue = await opened.catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return queue.store(rows, bytes, options);
    },
  };
}

/**
 * Sends each row to the queue of its address's shard. Every queue inserts and retries by itself: a shard that is away
 * holds up its own rows, and those who wait for them, but no other shard's.
 * @param queues one for each shard.
 * @param shardOf the index of an address's queue.
 */
function shardedQueue<Row extends WithSource>(
  queues: readonly InsertQueue<Row>[],
  shardOf: (address: number) => number,
): InsertQueue<Row> {
  return {
    async store(rows, bytes, options) {
      const parts = partition(rows, shardOf);
      const stored = [...parts].map(async ([shard, indexes]) => {
        const queue = queues[shard];
        if (queue === undefined) throw new RangeError(`there is no queue for shard ${shard}`);
        const own = indexes.flatMap((index) => rows[index] ?? []);
        const rejected = await queue.store(own, Math.ceil((bytes * own.length) / rows.length), options);
        return rejected.map(({ index, detail }): RejectedRow => ({ index: indexes[index] ?? 0, detail }));
      });
      // Each part is waited for, also after one has failed: none may still be on its way when the caller goes on.
      const ended = await Promise.allSettled(stored);
      return ended.flatMap((part) => {
        if (part.status === "rejected") throw part.reason;
        return part.value;
      });
    },
  };
}

/** The indexes of each shard's rows. */
function partition(
  rows: readonly WithSource[],
  shardOf: (address: number) => number,
): ReadonlyMap<number, readonly number[]> {
  const parts = new Map<number, number[]>();
  for (const [index, row] of rows.entries()) {
    const shard = shardOf(ipv4ToNumber(row.source_ip));
    const part = parts.get(shard);
    if (part === undefined) parts.set(shard, [index]);
    else part.push(index);
  }
  return parts;
}
