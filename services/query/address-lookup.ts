import type { ClickHouseClient } from "@noisefloor/clickhouse/client.ts";
import { run } from "@noisefloor/clickhouse/query.ts";
import { type Classification, classify, INTENTIONS } from "@noisefloor/domain/classification.ts";
import type { DataRoom } from "@noisefloor/domain/scope.ts";
import { retentionStart } from "@noisefloor/domain/window.ts";
import { coalesce } from "./coalesce.ts";
import { lookUpAddresses } from "./queries/address-lookup.ts";

/** What is known of an address. Times in milliseconds since 1970 UTC. */
export type AddressRecord = {
  /** Present when the address was observed scanning inside the retention window. */
  readonly noise?: { readonly lastSeen: number; readonly classification: Classification; readonly actor?: string };
  /** Present when a benign service's networks hold the address. */
  readonly riot?: { readonly name: string; readonly refreshedAt: number };
};

export type LookUpAddress = (ip: string) => Promise<AddressRecord>;

/** The most addresses that one query asks for. */
const MAX_ADDRESSES_PER_QUERY = 1_000;

/**
 * Looks up addresses in some rooms. Lookups that arrive while a query is under way share the next one: a query for
 * hundreds of addresses takes hardly longer than one for a single address.
 */
export function addressLookup(deps: {
  readonly client: ClickHouseClient;
  readonly rooms: readonly DataRoom[];
  readonly retentionDays: number;
  readonly now: () => number;
}): LookUpAddress {
  return coalesce(async (ips: readonly string[]) => {
    const rows = await run(deps.client, lookUpAddresses, {
      ips: [...ips],
      rooms: [...deps.rooms],
      since: retentionStart(deps.now(), deps.retentionDays),
    });
    return new Map(rows.map((row) => [row.ip, toRecord(row)]));
  }, MAX_ADDRESSES_PER_QUERY);
}

function toRecord(row: {
  last_seen: number;
  worst: number;
  service: string;
  service_refreshed_at: number;
  actor: string;
}): AddressRecord {
  const worst = INTENTIONS[row.worst];
  const isActor = row.actor !== "";
  return {
    ...(row.last_seen === 0
      ? {}
      : {
          noise: {
            lastSeen: row.last_seen,
            classification: classify(worst === undefined ? [] : [worst], isActor),
            ...(isActor ? { actor: row.actor } : {}),
          },
        }),
    ...(row.service === "" ? {} : { riot: { name: row.service, refreshedAt: row.service_refreshed_at } }),
  };
}
