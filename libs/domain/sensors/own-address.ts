import { isRoutableIpv4 } from "../address/ipv4.ts";

/** A flow that a passive monitor saw: its source, which began it, and its destination. */
export type SeenFlow = { readonly sensor: string; readonly source: string; readonly destination: string };

/** An address that is most likely a monitor's own, judging by its flows. */
export type OwnAddress = {
  readonly sensor: string;
  readonly address: string;
  /** The number of `flows` that it began: each of these would count as a scan by this address. */
  readonly begun: number;
  readonly flows: number;
};

/** How many flows of a sensor are examined. */
const SAMPLE = 2_000;
const LEAST_FLOWS = 100;
const SENSORS = 100;
/**
 * The rule: the address is an end of nine tenths of a sensor's flows, has ten partners or more, began some flows and
 * was the destination of others. A loud scanner has one partner, the sensor, and is no flow's destination.
 */
const RULE = { share: 0.9, partners: 10, eachWay: 0.01 } as const;

type Ends = { begun: number; received: number; readonly partners: Set<string> };
type Sample = { flows: number; isJudged: boolean; readonly ends: Map<string, Ends> };

export type OwnAddressWatch = {
  /** @returns the result of the sample of the flow's sensor, once, when it is complete. */
  add(flow: SeenFlow): OwnAddress | undefined;
  /** The result of the samples so far, also of incomplete ones. */
  found(): OwnAddress[];
};

/**
 * Looks for monitors' own addresses in their first flows. Memory is bounded: a sensor's sample is dropped once it has a
 * result.
 */
export function watchOwnAddresses(): OwnAddressWatch {
  const samples = new Map<string, Sample>();
  const ownAddresses: OwnAddress[] = [];
  const judge = (sensor: string, sample: Sample): OwnAddress | undefined => {
    const own = judgeSample(sensor, sample);
    if (own !== undefined) ownAddresses.push(own);
    sample.isJudged = true;
    sample.ends.clear();
    return own;
  };
  return {
    add({ sensor, source, destination }) {
      const sample = samples.get(sensor) ?? { flows: 0, isJudged: false, ends: new Map() };
      if (sample.isJudged || (sample.flows === 0 && samples.size >= SENSORS)) return undefined;
      samples.set(sensor, sample);
      sample.flows++;
      const [from, to] = [endOf(sample, source), endOf(sample, destination)];
      from.begun++;
      to.received++;
      if (from.partners.size < RULE.partners) from.partners.add(destination);
      if (to.partners.size < RULE.partners) to.partners.add(source);
      return sample.flows === SAMPLE ? judge(sensor, sample) : undefined;
    },
    found() {
      for (const [sensor, sample] of samples) if (!sample.isJudged) judge(sensor, sample);
      return ownAddresses;
    },
  };
}

function endOf({ ends }: Sample, address: string): Ends {
  const end = ends.get(address) ?? { begun: 0, received: 0, partners: new Set<string>() };
  ends.set(address, end);
  return end;
}

function judgeSample(sensor: string, { flows, ends }: Sample): OwnAddress | undefined {
  if (flows < LEAST_FLOWS) return undefined;
  for (const [address, { begun, received, partners }] of ends) {
    const isMost = begun + received >= RULE.share * flows && partners.size >= RULE.partners;
    const isBothWays = Math.min(begun, received) >= RULE.eachWay * flows;
    // A private address is no source of observations.
    if (isMost && isBothWays && isRoutableIpv4(address)) return { sensor, address, begun, flows };
  }
  return undefined;
}

/** What is stored of a sensor's loudest source, the one with the most observations. */
export type LoudestSource = {
  readonly sensor: string;
  readonly address: string;
  /** The number of the sensor's observations, and of those with this source. */
  readonly observations: number;
  readonly ofSource: number;
  /** The number of the source's questions to name servers, answers from a service, or to a client's port. */
  readonly outgoing: number;
  /** The number of ports that it sent to. */
  readonly ports: number;
};

/**
 * Whether a sensor's loudest source is most likely the sensor itself. Destinations are not stored, so its ports decide:
 * a scanner sends to the ports of services; a source that sends to one port alone, or to all alike, is a scanner, too.
 */
export function looksLikeSensor({ observations, ofSource, outgoing, ports }: LoudestSource): boolean {
  return observations >= 1_000 && ofSource >= 0.1 * observations && outgoing >= 0.6 * ofSource && ports >= 5;
}
