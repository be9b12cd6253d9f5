import type { Read } from "@noisefloor/clickhouse/client/query.ts";
import { GLOBAL_SCOPE, type Scope } from "@noisefloor/domain/access/scope.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { CONTACT_TAG_ID } from "@noisefloor/domain/tags/contact.ts";
import { classify } from "@noisefloor/domain/tags/classification.ts";
import { retentionStart } from "@noisefloor/domain/time/window.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { coalesce } from "./coalesce.ts";
import { type LookupCaches, refreshOutdated } from "./lookup-caches.ts";
import { type LookupRow, lookUpAddresses } from "./lookup-queries.ts";
import type { AddressRecord, LookUpAddress, NoiseRecord } from "./records.ts";

export type LookupDeps = LookupCaches & {
  readonly read: Read;
  readonly retentionDays: () => number;
  readonly now: () => number;
};

const MAX_ADDRESSES_PER_QUERY = 1_000;
/** This many take some milliseconds. */
const RECORDS_PER_TURN = 1_000;

/** Looks up addresses in some scopes. The map has a record for each of them. */
export async function lookUpMany(
  ips: readonly string[],
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal?: AbortSignal,
): Promise<Map<string, AddressRecord>> {
  const since = retentionStart(deps.now(), deps.retentionDays());
  const [rows] = await Promise.all([
    deps.read(lookUpAddresses, { ips: [...ips], scopes: [...scopes], since }, signal),
    refreshOutdated(deps),
  ]);
  const rowOf = new Map(rows.map((row) => [row.ip, row]));
  const records = new Map<string, AddressRecord>();
  for (const [index, ip] of ips.entries()) {
    if (index > 0 && index % RECORDS_PER_TURN === 0) {
      await yieldToEventLoop();
      signal?.throwIfAborted();
    }
    records.set(ip, toRecord(ip, rowOf.get(ip), deps));
  }
  return records;
}

/**
 * Looks up single addresses of the global dataset in ClickHouse. Lookups that arrive while a query runs share the next
 * query, because one for hundreds of addresses takes hardly longer than one for a single address. A disconnecting
 * client does not abort the query, as other clients may share it.
 * @param onQuery called with the number of addresses of each query.
 */
export function lookUpInStore(deps: LookupDeps, onQuery: (addresses: number) => void = () => {}): LookUpAddress {
  return coalesce((ips) => {
    onQuery(ips.length);
    return lookUpMany(ips, [GLOBAL_SCOPE], deps);
  }, MAX_ADDRESSES_PER_QUERY);
}

/** The record of an address. @param row what the store has of it; undefined when it was not seen. */
export function toRecord(ip: string, row: LookupRow | undefined, { catalogue, networks }: LookupCaches): AddressRecord {
  const address = ipv4ToNumber(ip);
  const { service, actor } = networks.current();
  const riot = service(address);
  return {
    ...(row === undefined ? {} : { noise: toNoise(row, actor(address)?.name, catalogue) }),
    ...(riot === undefined ? {} : { riot }),
  };
}

/** Tags that are no longer in the catalogue have no intention and are left out. */
function toNoise(row: LookupRow, actor: string | undefined, catalogue: LookupCaches["catalogue"]): NoiseRecord {
  const tags = row.tag_ids.flatMap((id) => catalogue.byId(id) ?? []);
  const hasAttacked = row.tag_ids.includes(ATTACK_TAG_ID);
  return {
    lastSeen: row.latest,
    classification: classify(
      tags.map((tag) => tag.intention),
      { isActor: actor !== undefined, hasAttacked },
    ),
    isSpoofable: !row.tag_ids.includes(CONTACT_TAG_ID),
    hasAttacked,
    tagIds: tags.map((tag) => tag.id).sort(),
    ...(actor === undefined ? {} : { actor }),
  };
}
