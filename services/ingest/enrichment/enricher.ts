import { type AddressFacts, type FactsSource, fillIn } from "./facts.ts";

/** Adds to observations the network and the place of their source. */
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

/** Most observations come from a few thousand sources; some megabytes hold this many. */
const REMEMBERED = 32_768;

/** @param sources the databases at present. An earlier one wins against a later one, member by member. */
export function createEnricher(sources: () => readonly FactsSource[]): Enricher {
  // Two generations: dropping the older one when the newer is full costs nothing for each lookup.
  let newer = new Map<string, AddressFacts>();
  let older = new Map<string, AddressFacts>();
  let changes = 0;
  const factsOf = (ip: string): AddressFacts => {
    const recent = newer.get(ip);
    if (recent !== undefined) return recent;
    const facts = older.get(ip) ?? combine(ip, sources());
    if (newer.size >= REMEMBERED) {
      older = newer;
      newer = new Map();
    }
    newer.set(ip, facts);
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
      newer = new Map();
      older = new Map();
    },
  };
}

function combine(ip: string, sources: readonly FactsSource[]): AddressFacts {
  const combined: AddressFacts = {};
  for (const source of sources) {
    const facts = source.lookUp(ip);
    if (facts !== undefined) fillIn(combined, facts);
  }
  return combined;
}
