import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { shardsOf } from "@noisefloor/clickhouse/cluster/cluster.ts";
import { readOwnShards } from "@noisefloor/clickhouse/cluster/servers.ts";
import { shardOfAddress } from "@noisefloor/clickhouse/cluster/shard.ts";
import { startSightings } from "@noisefloor/query/address-index/sharded-sightings.ts";
import type { SightingsCache, SightingsCacheOptions } from "@noisefloor/query/address-index/sightings-cache.ts";
import type { World } from "./world.ts";

/** The index in memory over a world's store, as a service opens it. */
export async function startIndex(
  { connection }: Pick<World, "connection">,
  options: SightingsCacheOptions,
): Promise<SightingsCache> {
  const client = connect(connection, "noisefloor-tests");
  const shardOf = shardOfAddress((await readOwnShards(client)) ?? []);
  const index = startSightings(await shardsOf(client), shardOf, () => options);
  return {
    ...index,
    async stop() {
      await index.stop();
      await client.close();
    },
  };
}
