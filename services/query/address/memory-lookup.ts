import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { type Classification, classify, INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { AddressIndex } from "../address-index/ask-index.ts";
import type { Sighting } from "../address-index/sighting-table.ts";
import { type LookupCaches, MAX_CACHE_AGE_SECONDS } from "./lookup-caches.ts";
import type { AddressSummary, LookUpAddress, NoiseSummary } from "./records.ts";

/** What finds addresses of the global dataset in memory; undefined while the in-memory data may be stale. */
export type FindInMemory = () => ((ip: string) => AddressSummary) | undefined;

export function findInMemory(sightings: AddressIndex, { networks }: Pick<LookupCaches, "networks">): FindInMemory {
  const find = (ip: string): AddressSummary => {
    const address = ipv4ToNumber(ip);
    const sighting = sightings.find(address);
    const { service, actor } = networks.current();
    const noise = sighting === undefined ? undefined : toNoise(sighting, actor(address)?.name);
    return { noise, riot: service(address) };
  };
  return () => (sightings.isCurrent() && networks.ageSeconds() <= MAX_CACHE_AGE_SECONDS ? find : undefined);
}

/** Looks up addresses in memory, but in ClickHouse while the in-memory data may be stale. */
export function lookUpInMemory(inMemory: FindInMemory, lookUpInStore: LookUpAddress): LookUpAddress {
  return async (ip) => {
    const find = inMemory();
    return find === undefined ? lookUpInStore(ip) : find(ip);
  };
}

function toNoise({ lastSeen, severity, isInContact, hasAttacked }: Sighting, actor: string | undefined): NoiseSummary {
  const worst = INTENTIONS[severity - 1];
  const standing = { isActor: actor !== undefined, hasAttacked };
  const classification: Classification = classify(worst === undefined ? [] : [worst], standing);
  return { lastSeen, classification, isSpoofable: !isInContact, hasAttacked, actor };
}
