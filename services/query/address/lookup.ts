import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { type Classification, classify, INTENTIONS } from "@noisefloor/domain/classification.ts";
import type { Scope } from "@noisefloor/domain/scope.ts";
import { retentionStart } from "@noisefloor/domain/window.ts";
import type { z } from "zod";
import { coalesce } from "./coalesce.ts";
import { lookUpAddresses, summarizeAddresses } from "./lookup-queries.ts";

/** What is known of an address. Times in milliseconds since 1970 UTC. */
export type AddressRecord = {
  /** Present when the address was observed scanning inside the retention window. */
  readonly noise?: NoiseRecord;
  /** Present when a benign service's networks hold the address. */
  readonly riot?: RiotRecord;
};

/** What a single lookup answers from. Times in milliseconds since 1970 UTC. */
export type AddressSummary = {
  readonly noise?: NoiseSummary;
  readonly riot?: RiotRecord;
};

export type NoiseSummary = {
  readonly lastSeen: number;
  readonly classification: Classification;
  /** The known benign actor whose networks hold the address. */
  readonly actor?: string;
};

export type NoiseRecord = NoiseSummary & {
  readonly firstSeen: number;
  readonly tagIds: readonly string[];
};

export type RiotRecord = {
  readonly name: string;
  readonly category: string;
  readonly description: string;
  readonly explanation: string;
  readonly reference: string;
  readonly trustLevel: string;
  readonly refreshedAt: number;
};

export type LookUpAddress = (ip: string) => Promise<AddressSummary>;

export type LookupDeps = {
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
};

/** The most addresses that one query asks for. */
const MAX_ADDRESSES_PER_QUERY = 1_000;

/** Looks up any number of addresses in some scopes; every one asked for is in the answer. */
export async function lookUpAll(
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal?: AbortSignal,
): Promise<Map<string, AddressRecord>> {
  const since = retentionStart(deps.now(), deps.retentionDays());
  const rows = await deps.read(lookUpAddresses, { ips: [...ips], scopes: [...scopes], since }, signal);
  return new Map(rows.map((row) => [row.ip, toRecord(row)]));
}

/**
 * Looks up single addresses of the global dataset in the store. Lookups that arrive while a query is under way share the
 * next one: a query for hundreds of addresses takes hardly longer than one for a single address. A client that goes away
 * does not end a query that others wait for.
 * @param onQuery called with how many addresses each query asked for.
 */
export function lookUpInStore(deps: LookupDeps, onQuery: (addresses: number) => void = () => {}): LookUpAddress {
  return coalesce(async (ips) => {
    onQuery(ips.length);
    const since = retentionStart(deps.now(), deps.retentionDays());
    const rows = await deps.read(summarizeAddresses, { ips: [...ips], since });
    return new Map(rows.map((row) => [row.ip, toSummary(row)]));
  }, MAX_ADDRESSES_PER_QUERY);
}

type SummaryRow = z.output<(typeof summarizeAddresses)["row"]>;

function toRecord(row: z.output<(typeof lookUpAddresses)["row"]>): AddressRecord {
  const { noise, ...rest } = toSummary(row);
  return noise === undefined ? rest : { ...rest, noise: { ...noise, firstSeen: row.first_seen, tagIds: row.tag_ids } };
}

function toSummary(row: SummaryRow): AddressSummary {
  return {
    ...(row.last_seen === 0 ? {} : { noise: toNoise(row) }),
    ...(row.service === "" ? {} : { riot: toRiot(row) }),
  };
}

function toNoise(row: SummaryRow): NoiseSummary {
  const worst = INTENTIONS[row.worst];
  const isActor = row.actor !== "";
  return {
    lastSeen: row.last_seen,
    classification: classify(worst === undefined ? [] : [worst], isActor),
    ...(isActor ? { actor: row.actor } : {}),
  };
}

function toRiot(row: SummaryRow): RiotRecord {
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
