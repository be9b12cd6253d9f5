import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { CSV_HEADER, type ListedAddress, listStored, toCsvRow } from "@noisefloor/domain/feeds/listed-address.ts";
import { type AddressContext, streamContexts } from "../../address/read-contexts.ts";
import type { LookupDeps } from "../../address/store-lookup.ts";
import type { Search } from "../search.ts";

type CsvDeps = LookupDeps & { readonly catalogue: TagCatalogue };

/** Some addresses as lines of CSV, the header first. */
export async function* csvLines(
  ips: readonly string[],
  { scopes }: Search,
  deps: CsvDeps,
  signal: AbortSignal,
): AsyncGenerator<string> {
  yield CSV_HEADER;
  const withDetails = true;
  for await (const [ip, context] of streamContexts(ips, scopes, withDetails, deps, signal)) {
    yield toCsvRow(toListed(ip, context, deps.catalogue));
  }
}

function toListed(ip: string, { noise, details }: AddressContext, catalogue: TagCatalogue): ListedAddress {
  return listStored({
    ip,
    // Without details, its observations have expired since the search.
    firstSeen: noise === undefined ? undefined : (details?.first_seen ?? noise.lastSeen),
    lastSeen: noise?.lastSeen,
    classification: noise?.classification ?? "",
    tags: (noise?.tagIds ?? []).flatMap((id) => catalogue.byId(id)?.slug ?? []).sort(),
    asn: details?.asn ?? 0,
    organization: details?.organization ?? "",
    country: details?.country ?? "",
    spoofable: noise?.isSpoofable ?? false,
  });
}
