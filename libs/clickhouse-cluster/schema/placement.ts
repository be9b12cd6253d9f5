import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { StoreError } from "@noisefloor/clickhouse/client/errors.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_TAGS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { readOwnShards } from "../client/client.ts";
import { type Shard, slotsOf } from "../client/shard.ts";

const misplacedAddresses = defineQuery({
  name: "misplaced-addresses",
  sql: `SELECT uniqExact(source_ip) AS addresses FROM ${ADDRESS_TAGS}
    WHERE NOT has({slots:Array(UInt32)}, toUInt32(source_ip) % {total:UInt32})`,
  params: z.object({ slots: z.array(z.int()), total: z.int() }),
  row: z.object({ addresses: z.int() }),
});

/** How many addresses the server of the shard with this index has that belong to another shard. */
export async function countMisplaced(
  server: ClickHouseClient,
  shards: readonly Shard[],
  shard: number,
): Promise<number> {
  const owners = slotsOf(shards);
  const slots = owners.flatMap((owner, slot) => (owner === shard ? [slot] : []));
  return (await runForOne(server, misplacedAddresses, { slots, total: owners.length })).addresses;
}

/**
 * An address with rows on two shards would count twice.
 * @param given other shards than those of the client's cluster, of which a single server has none.
 * @throws StoreError when some have: the shards or their weights are not those with which the rows were stored.
 */
export async function assertPlacement(client: ClickHouseClient, given?: readonly Shard[]): Promise<void> {
  const shards = given ?? (await readOwnShards(client));
  if (shards === undefined) return;
  const servers = await client.owners();
  const counts = await Promise.all(servers.map((server, shard) => countMisplaced(server, shards, shard)));
  const misplaced = counts.reduce((sum, one) => sum + one, 0);
  if (misplaced === 0) return;
  throw new StoreError(
    `${misplaced} addresses are on another shard than the cluster's configuration says, and would count twice: ` +
      "give remote_servers the shards, order and weights back with which they were stored (docs/scaling.md)",
  );
}
