import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { type Classification, classify, INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { LookUpAddress, NoiseSummary } from "../address/records.ts";
import type { BenignNetworks } from "./benign-networks.ts";
import type { Sighting } from "./sightings.ts";
import type { SightingsCache } from "./sightings-cache.ts";

/** In-memory data for lookups of single addresses in the global dataset. */
export type AddressIndex = {
  readonly sightings: Pick<SightingsCache, "find" | "isCurrent">;
  readonly networks: { current(): BenignNetworks; ageSeconds(): number };
};

const MAX_AGE_SECONDS = 5;

/** Looks up addresses in memory, but in ClickHouse while the in-memory data may be stale. */
export function lookUpInMemory({ sightings, networks }: AddressIndex, lookUpInStore: LookUpAddress): LookUpAddress {
  return async (ip) => {
    if (!sightings.isCurrent() || networks.ageSeconds() > MAX_AGE_SECONDS) return lookUpInStore(ip);
    const address = ipv4ToNumber(ip);
    const sighting = sightings.find(address);
    const { service, actor } = networks.current();
    const riot = service(address);
    return { ...(sighting && { noise: toNoise(sighting, actor(address)?.name) }), ...(riot && { riot }) };
  };
}

function toNoise({ lastSeen, severity }: Sighting, actor: string | undefined): NoiseSummary {
  const worst = INTENTIONS[severity - 1];
  const classification: Classification = classify(worst === undefined ? [] : [worst], actor !== undefined);
  return { lastSeen, classification, ...(actor !== undefined && { actor }) };
}
