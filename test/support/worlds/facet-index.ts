import { connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { type FacetIndex, type FacetIndexOptions, startFacetIndex } from "@noisefloor/query/facet-index/facet-index.ts";
import type { World } from "./world.ts";

/** The index of searches over a world's store, as a service opens it, with more memory than a test needs. */
export function startSearchIndex(
  { connection }: Pick<World, "connection">,
  options: Omit<FacetIndexOptions, "maxBytes"> & { readonly maxBytes?: number },
): FacetIndex {
  const client = connectStore(connection, "noisefloor-tests");
  const index = startFacetIndex(client, { maxBytes: 256 * 1024 * 1024, ...options });
  return {
    ...index,
    async stop() {
      await index.stop();
      await client.close();
    },
  };
}
