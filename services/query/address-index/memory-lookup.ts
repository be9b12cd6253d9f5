import { type Classification, classify, INTENTIONS } from "@noisefloor/domain/classification.ts";
import { ipv4ToNumber } from "@noisefloor/domain/ipv4.ts";
import type { AddressSummary, LookUpAddress } from "../address/records.ts";
import type { BenignNetworks } from "./benign-networks.ts";
import type { SightingsCache } from "./sightings-cache.ts";

/** What single addresses of the global dataset are looked up in. */
export type AddressIndex = {
  readonly sightings: Pick<SightingsCache, "find" | "isCurrent">;
  readonly networks: { current(): BenignNetworks; ageSeconds(): number };
};

const MAX_AGE_SECONDS = 5;

/** Looks up addresses in memory, and in the store while the memory may be behind it. */
export function lookUpInMemory({ sightings, networks }: AddressIndex, lookUpInStore: LookUpAddress): LookUpAddress {
  return async (ip) => {
    if (!sightings.isCurrent() || networks.ageSeconds() > MAX_AGE_SECONDS) return lookUpInStore(ip);
    const address = ipv4ToNumber(ip);
    const seen = sightings.find(address);
    const { service, actor } = networks.current();
    const riot = service(address);
    return { ...(seen && { noise: describe(seen, actor(address)?.name) }), ...(riot && { riot }) };
  };
}

function describe(
  { lastSeen, severity }: { readonly lastSeen: number; readonly severity: number },
  actor: string | undefined,
): NonNullable<AddressSummary["noise"]> {
  const worst = INTENTIONS[severity - 1];
  const classification: Classification = classify(worst === undefined ? [] : [worst], actor !== undefined);
  return { lastSeen, classification, ...(actor !== undefined && { actor }) };
}
