import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { onlyRow, type Read } from "@noisefloor/clickhouse/client/query.ts";
import { isGlobalOnly, type Scope } from "@noisefloor/domain/access/scope.ts";
import { ATTACKED } from "@noisefloor/domain/tags/attack.ts";
import { type Classification, INTENTIONS, severityOf } from "@noisefloor/domain/tags/classification.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { type LookupCaches, refreshOutdated } from "../address/lookup-caches.ts";
import { type AddressIndex, askIndex } from "../address-index/ask-index.ts";
import { countSeen, countSeenBySeverity } from "./queries.ts";

export type SeenDeps = LookupCaches & {
  readonly read: Read;
  readonly catalogue: Pick<TagCatalogue, "all">;
  /** Has the addresses of the global dataset: about these alone no query is needed. */
  readonly index?: AddressIndex | undefined;
};

/** Milliseconds: from when on an address counts. */
export type SeenQuery = { readonly scopes: Scope[]; readonly from: number };

export type Classified = Record<Classification, number>;

/** The number of distinct addresses seen since a time. */
export async function countAllSeen(
  { scopes, from }: SeenQuery,
  { read, index }: SeenDeps,
  signal: AbortSignal,
): Promise<number> {
  let addresses = 0;
  const isCounted = await visitSeen({ scopes, from }, index, () => void addresses++, signal);
  return isCounted ? addresses : onlyRow(countSeen, await read(countSeen, { scopes, from }, signal)).active_ips;
}

/** The same by classification. @param query `since`: milliseconds, from when on tags count. */
export async function classifySeen(
  query: SeenQuery & { readonly since: number },
  deps: SeenDeps,
  signal: AbortSignal,
): Promise<Classified> {
  await refreshOutdated(deps);
  const { actor, hasActors } = deps.networks.current();
  const counts = noneYet();
  const count = (address: number, severity: number) => {
    const isActor = hasActors && actor(address) !== undefined;
    const standing = { isActor, hasAttacked: (severity & ATTACKED) !== 0 };
    counts[classificationOf(severityOf((severity & ~ATTACKED) - 1, standing))]++;
  };
  return (await visitSeen(query, deps.index, count, signal)) ? counts : countInStore(query, deps, signal);
}

/** Calls back with each address and its severity. @returns whether the index has them all; without it, they do not count. */
async function visitSeen(
  { scopes, from }: SeenQuery,
  index: AddressIndex | undefined,
  visitor: (address: number, severity: number) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const visited = await askIndex(isGlobalOnly(scopes) ? index : undefined, async (current) => {
    for (const _step of current.visit(from, visitor)) {
      signal.throwIfAborted();
      await yieldToEventLoop();
    }
    return true;
  });
  return visited ?? false;
}

async function countInStore(
  query: SeenQuery & { readonly since: number },
  { read, catalogue }: SeenDeps,
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
  for (const { severity, addresses } of await read(countSeenBySeverity, params, signal)) {
    counts[classificationOf(severity)] += addresses;
  }
  return counts;
}

function classificationOf(severity: number): Classification {
  return INTENTIONS[severity] ?? "unknown";
}

function noneYet(): Classified {
  return { benign: 0, unknown: 0, suspicious: 0, malicious: 0 };
}
