import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { type AddressFacts, type FactsSource, fillIn } from "./facts.ts";

/** Adds to observations the network and the location of their source. */
export type Enricher = {
  /**
   * Fills in what the sensor left out, in the observation itself.
   * @returns the same observation.
   */
  enrich<Observation extends AddressFacts & { readonly source_ip: string }>(observation: Observation): Observation;
  /** What all databases together know of a routable IPv4 address. */
  factsOf(ip: string): AddressFacts;
  /** To be called when a database has changed. */
  forget(): void;
  /** How often that was. */
  changes(): number;
};

/**
 * Bits of the number of slots for addresses: most observations come from a few thousand sources. Each address has one
 * slot and takes it from the one before, as a map would cost as much as the lookups where many sources are new.
 */
const SLOT_BITS = 16;

/** @param sources the databases at present. An earlier one wins against a later one, member by member. */
export function createEnricher(sources: () => readonly FactsSource[]): Enricher {
  const addresses = new Uint32Array(2 ** SLOT_BITS);
  const remembered: (AddressFacts | undefined)[] = Array.from(addresses, () => undefined);
  let changes = 0;
  const factsOf = (ip: string): AddressFacts => {
    const address = ipv4ToNumber(ip);
    const slot = slotOf(address);
    const known = remembered[slot];
    if (known !== undefined && addresses[slot] === address) return known;
    const facts = combine(ip, sources());
    addresses[slot] = address;
    remembered[slot] = facts;
    return facts;
  };
  return {
    enrich(observation) {
      fillIn(observation, factsOf(observation.source_ip));
      return observation;
    },
    factsOf,
    changes: () => changes,
    forget() {
      changes++;
      remembered.fill(undefined);
    },
  };
}

/** The upper bits of a product with 2^32 divided by the golden ratio: neighbours are far from each other. */
const slotOf = (address: number) => Math.imul(address, 0x9e3779b1) >>> (32 - SLOT_BITS);

function combine(ip: string, sources: readonly FactsSource[]): AddressFacts {
  const combined: AddressFacts = {};
  for (const source of sources) {
    const facts = source.lookUp(ip);
    if (facts !== undefined) fillIn(combined, facts);
  }
  return combined;
}
