import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { type Classification, classify, INTENTIONS } from "@noisefloor/domain/classification.ts";
import type { DataRoom } from "@noisefloor/domain/scope.ts";
import { retentionStart } from "@noisefloor/domain/window.ts";
import type { z } from "zod";
import { coalesce } from "./coalesce.ts";
import { lookUpAddresses } from "./queries/address-lookup.ts";

/** What is known of an address. Times in milliseconds since 1970 UTC. */
export type AddressRecord = {
  /** Present when the address was observed scanning inside the retention window. */
  readonly noise?: NoiseRecord;
  /** Present when a benign service's networks hold the address. */
  readonly riot?: RiotRecord;
};

export type NoiseRecord = {
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly classification: Classification;
  readonly tagIds: readonly string[];
  /** The known benign actor whose networks hold the address. */
  readonly actor?: string;
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

export type LookUpAddress = (ip: string) => Promise<AddressRecord>;

export type LookupDeps = {
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
};

/** The most addresses that one query asks for. */
const MAX_ADDRESSES_PER_QUERY = 1_000;

/** Looks up any number of addresses in some rooms; every one asked for is in the answer. */
export async function lookUpAll(
  ips: readonly string[],
  rooms: readonly DataRoom[],
  deps: LookupDeps,
  signal?: AbortSignal,
): Promise<Map<string, AddressRecord>> {
  const since = retentionStart(deps.now(), deps.retentionDays());
  const rows = await deps.read(lookUpAddresses, { ips: [...ips], rooms: [...rooms], since }, signal);
  return new Map(rows.map((row) => [row.ip, toRecord(row)]));
}

/**
 * Looks up single addresses in some rooms. Lookups that arrive while a query is under way share the next one: a query
 * for hundreds of addresses takes hardly longer than one for a single address. A client that goes away does not end a
 * query that others wait for.
 * @param onQuery hears how many addresses each query asked for.
 */
export function addressLookup(
  rooms: readonly DataRoom[],
  deps: LookupDeps,
  onQuery: (addresses: number) => void = () => {},
): LookUpAddress {
  return coalesce((ips) => {
    onQuery(ips.length);
    return lookUpAll(ips, rooms, deps);
  }, MAX_ADDRESSES_PER_QUERY);
}

function toRecord(row: z.output<(typeof lookUpAddresses)["row"]>): AddressRecord {
  return {
    ...(row.last_seen === 0 ? {} : { noise: toNoise(row) }),
    ...(row.service === "" ? {} : { riot: toRiot(row) }),
  };
}

function toNoise(row: z.output<(typeof lookUpAddresses)["row"]>): NoiseRecord {
  const worst = INTENTIONS[row.worst];
  const isActor = row.actor !== "";
  return {
    firstSeen: row.first_seen,
    lastSeen: row.last_seen,
    classification: classify(worst === undefined ? [] : [worst], isActor),
    tagIds: row.tag_ids,
    ...(isActor ? { actor: row.actor } : {}),
  };
}

function toRiot(row: z.output<(typeof lookUpAddresses)["row"]>): RiotRecord {
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
