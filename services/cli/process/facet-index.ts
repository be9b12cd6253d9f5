import { type FacetIndex, startFacetIndex } from "@noisefloor/query/facet-index/facet-index.ts";
import type { Caches } from "./caches.ts";
import type { Clients } from "./clients.ts";
import type { ServiceContext } from "./service-context.ts";

/** Opens the index in memory that answers searches, when the role and the settings ask for it. */
export async function openFacetIndex(
  { roles, settings, log, metrics, closeStack }: ServiceContext,
  { index: client }: Pick<Clients, "index">,
  { retentionDays, changes }: Pick<Caches, "retentionDays" | "changes">,
): Promise<FacetIndex | undefined> {
  const maxBytes = settings.searchMemoryBytes;
  // The numbers of blocks, from which changes are read on, are those of one server.
  if (!roles.query || maxBytes === 0 || (await client.owners()).length > 1) return undefined;
  const index = startFacetIndex(client, {
    maxBytes,
    retentionDays,
    changes,
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "refresh of the search index failed; searching in ClickHouse"),
    onRecovery: () => log.info("refresh of the search index succeeded again"),
    onLoaded: (loaded) => log.info(loaded, "field loaded into the search index"),
    onTooLarge: (field) => log.warn(field, "field does not fit into SEARCH_MEMORY_MIB; searching it in ClickHouse"),
  });
  closeStack.add(index.stop);
  metrics.gauge("noisefloor_search_index_members", "Pairs of address and value in memory, for searches", index.members);
  metrics.gauge("noisefloor_search_index_bytes", "Memory that the search index takes", index.bytes);
  return index;
}
