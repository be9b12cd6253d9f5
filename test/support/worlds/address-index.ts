import { connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import type { SightingsCache, SightingsCacheOptions } from "@noisefloor/query/address-index/sightings-cache.ts";
import { startSightings } from "@noisefloor/query/address-index/sightings-of-owners.ts";
import type { World } from "./world.ts";

/** The index in memory over a world's store, as a service opens it. */
export async function startIndex(
  { connection }: Pick<World, "connection">,
  options: SightingsCacheOptions,
): Promise<SightingsCache> {
  const client = connectStore(connection, "noisefloor-tests");
  const index = startSightings(await client.owners(), await client.ownerOf(), () => options);
  return {
    ...index,
    async stop() {
      await index.stop();
      await client.close();
    },
  };
}
