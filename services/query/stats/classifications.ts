import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { type Classification, INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { type LookupCaches, refreshOutdated } from "../address/store-lookup.ts";
import type { AddressIndex } from "../address-index/memory-lookup.ts";
import { askIndex, takeTurns } from "./in-memory.ts";
import { countBySeverity } from "./queries.ts";

export type ClassificationsDeps = LookupCaches & {
  readonly read: Read;
  readonly catalogue: Pick<TagCatalogue, "all">;
  /** Classifies addresses of the global dataset without a query. */
  readonly index?: AddressIndex | undefined;
};

/** Milliseconds: from when on an address counts, and from when on its tags do. */
export type ClassificationsQuery = { readonly scopes: Scope[]; readonly from: number; readonly since: number };

export type Classified = Record<Classification, number>;

/** The distinct addresses seen since a time, by classification. */
export async function classifySeen(
  query: ClassificationsQuery,
  deps: ClassificationsDeps,
  signal: AbortSignal,
): Promise<Classified> {
  await refreshOutdated(deps);
  const counted = await askIndex(query.scopes, deps.index, (index) => countInMemory(query.from, index, deps, signal));
  return counted ?? countInStore(query, deps, signal);
}

async function countInMemory(
  from: number,
  index: AddressIndex,
  { networks }: LookupCaches,
  signal: AbortSignal,
): Promise<Classified> {
  const { actor, hasActors } = networks.current();
  const counts = noneYet();
  const steps = index.visit(from, (address, severity) => {
    counts[hasActors && actor(address) !== undefined ? "benign" : classificationOf(severity)]++;
  });
  await takeTurns(steps, signal);
  return counts;
}

async function countInStore(
  query: ClassificationsQuery,
  { read, catalogue }: ClassificationsDeps,
  signal: AbortSignal,
): Promise<Classified> {
  const idsOf = (wanted: Classification) =>
    catalogue.all().flatMap(({ id, intention }) => (intention === wanted ? [id] : []));
  const params = {
    ...query,
    benign: idsOf("benign"),
    unknown: idsOf("unknown"),
    suspicious: idsOf("suspicious"),
    malicious: idsOf("malicious"),
  };
  const counts = noneYet();
  for (const { severity, active_ips } of await read(countBySeverity, params, signal)) {
    counts[severity < 0 ? "benign" : classificationOf(severity)] += active_ips;
  }
  return counts;
}

/** @param severity from 1; 0 without tags. */
function classificationOf(severity: number): Classification {
  return INTENTIONS[severity - 1] ?? "unknown";
}

function noneYet(): Classified {
  return { benign: 0, unknown: 0, suspicious: 0, malicious: 0 };
}
