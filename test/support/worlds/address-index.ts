import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { connectionsOf, readOwnShards, shardOfAddress } from "@noisefloor/clickhouse/cluster/servers.ts";
import { startSightings } from "@noisefloor/query/address-index/sharded-sightings.ts";
import type { SightingsCache, SightingsCacheOptions } from "@noisefloor/query/address-index/sightings-cache.ts";
import type { World } from "./world.ts";

/** The index in memory over a world's store, as a service opens it. */
export async function startIndex(
  { client, connection }: Pick<World, "client" | "connection">,
  options: SightingsCacheOptions,
): Promise<SightingsCache> {
  const shards = await readOwnShards(client);
  const clients = connectionsOf(connection, shards).map((server) => connect(server, "noisefloor-tests"));
  const index = startSightings(clients, shardOfAddress(shards ?? []), () => options);
  return {
    ...index,
    async stop() {
      await index.stop();
      for (const each of clients) await each.close();
    },
  };
}
