import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { GLOBAL_SCOPE, type Scope } from "@noisefloor/domain/access/scope.ts";
import { classify, INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { retentionStart } from "@noisefloor/domain/time/window.ts";
import { coalesce } from "./coalesce.ts";
import { type LookupRow, lookUpAddresses } from "./lookup-queries.ts";
import type { AddressRecord, AddressSummary, LookUpAddress, NoiseSummary, RiotRecord } from "./records.ts";

export type LookupDeps = {
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
};

const MAX_ADDRESSES_PER_QUERY = 1_000;

/** Looks up addresses in some scopes. The map has a record for each of them. */
export async function lookUpMany(
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal?: AbortSignal,
): Promise<Map<string, AddressRecord>> {
  const since = retentionStart(deps.now(), deps.retentionDays());
  const rows = await deps.read(lookUpAddresses(true), { ips: [...ips], scopes: [...scopes], since }, signal);
  return new Map(rows.map((row) => [row.ip, toRecord(row)]));
}

/**
 * Looks up single addresses of the global dataset in ClickHouse. Lookups that arrive while a query runs share the next
 * query, because one for hundreds of addresses takes hardly longer than one for a single address. A disconnecting
 * client does not abort the query, as other clients may share it.
 * @param onQuery called with the number of addresses of each query.
 */
export function lookUpInStore(deps: LookupDeps, onQuery: (addresses: number) => void = () => {}): LookUpAddress {
  return coalesce(async (ips) => {
    onQuery(ips.length);
    const since = retentionStart(deps.now(), deps.retentionDays());
    const rows = await deps.read(lookUpAddresses(false), { ips: [...ips], scopes: [GLOBAL_SCOPE], since });
    return new Map(rows.map((row) => [row.ip, toSummary(row)]));
  }, MAX_ADDRESSES_PER_QUERY);
}

function toRecord(row: LookupRow): AddressRecord {
  const { noise, ...rest } = toSummary(row);
  return noise === undefined ? rest : { ...rest, noise: { ...noise, tagIds: row.tag_ids } };
}

function toSummary(row: LookupRow): AddressSummary {
  return {
    ...(row.last_seen === 0 ? {} : { noise: toNoise(row) }),
    ...(row.service === "" ? {} : { riot: toRiot(row) }),
  };
}

function toNoise(row: LookupRow): NoiseSummary {
  const worst = INTENTIONS[row.worst];
  const isActor = row.actor !== "";
  return {
    lastSeen: row.last_seen,
    classification: classify(worst === undefined ? [] : [worst], isActor),
    ...(isActor ? { actor: row.actor } : {}),
  };
}

function toRiot(row: LookupRow): RiotRecord {
  return {
    name: row.service,
    category: row.service_category,
    description: row.service_description,
    explanation: row.service_explanation,
    reference: row.service_reference,
    trustLevel: row.service_trust_level,
    refreshedAt: row.service_refreshed_at,
  };
}
