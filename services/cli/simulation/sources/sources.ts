import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { chance, mix, type Random, seededRandom, weightedPick } from "../random.ts";
import type { Content } from "./content.ts";
import type { Block, Networks } from "./networks.ts";
import { placeIn } from "./places.ts";
import type { Profile } from "./profiles.ts";

/** One address that scans. */
export type Source = {
  readonly ip: string;
  /** The same as a number of 32 bits. */
  readonly address: number;
  readonly country: string | undefined;
  readonly number: number;
  /** What it sends, the first most often. */
  readonly contents: readonly Content[];
  readonly isZmap: boolean;
  readonly rdns: string | undefined;
  /** How much its activity follows its owner's day, from 0 to 1, and by how many hours that is ahead of UTC. */
  readonly rhythm: number;
  readonly hoursAhead: number;
};

/** @param number differs between the sources of a block. */
export function sourceIn(
  block: Block,
  number: number,
  behaviour: Pick<Source, "contents" | "isZmap"> & { readonly rdns?: string },
): Source {
  const address = block.first + 1 + (number % 254);
  return {
    ip: numberToIpv4(address),
    address,
    country: block.country,
    number,
    contents: behaviour.contents,
    isZmap: behaviour.isZmap,
    rdns: behaviour.rdns,
    rhythm: block.isHosting ? 0.05 : 0.4,
    hoursAhead: (placeIn(block.country, 0)?.longitude ?? 0) / 15,
  };
}

/** Home and office are most active at three in the afternoon. */
const BUSIEST_HOUR = 15;

/** How active a source is at a time, compared with its mean. */
export function activityAt({ rhythm, hoursAhead }: Source, time: number): number {
  const hour = time / HOUR_MS + hoursAhead;
  return 1 + rhythm * Math.cos(((hour - BUSIEST_HOUR) / 24) * 2 * Math.PI);
}

export type Scanners = {
  /** Draws a scanner that comes again, as long as its address is its own. */
  recurring(time: number, random: Random): Source;
  /** One that is seen once. */
  oneOff(random: Random): Source;
};

export type ScannersOptions = {
  readonly seed: number;
  /** How many come again at any time. */
  readonly sources: number;
  readonly networks: Networks;
  readonly profiles: readonly Profile[];
};

/**
 * With this exponent the busiest 0.1 %, 1 % and 10 % of the sources send 0.28, 0.41 and 0.64 of all; in public honeypot
 * logs it is 0.18 to 0.24, 0.36 to 0.41 and 0.66 to 0.69.
 */
const TAIL = 4.5;
/** So many first ones are equally busy: none sends more than a fiftieth of all. */
const BUSIEST = 8;
/** A hundredth of the scanners keep their addresses. */
const PERSISTENT = 0.01;
/** In days, how long the others keep theirs, each up to its share. */
const STAYS: readonly (readonly [upTo: number, days: number])[] = [
  [0.2, 0.5],
  [0.4, 2],
  [0.65, 6],
  [0.9, 20],
  [1, 90],
];

/** The scanners that no campaign has sent. */
export function openScanners({ seed, sources, networks, profiles }: ScannersOptions): Scanners {
  const drawHosting = weightedPick(profiles.map((profile) => [profile, profile.weights[0]] as const));
  const drawHome = weightedPick(profiles.map((profile) => [profile, profile.weights[1]] as const));
  const known = new Map<number, { readonly generation: number; readonly source: Source }>();

  const make = (number: number): Source => {
    const random = seededRandom(number);
    const block = networks.draw(random);
    const profile = (block.isHosting ? drawHosting : drawHome)(random());
    return sourceIn(block, number, { contents: profile.draw(random()), isZmap: profile.isZmap === true });
  };
  const stayOf = (rank: number) => {
    if (rank < sources * PERSISTENT) return Number.POSITIVE_INFINITY;
    const share = chance(seed, rank, 1);
    return (STAYS.find(([upTo]) => share < upTo)?.[1] ?? 1) * DAY_MS;
  };
  return {
    recurring(time, random) {
      const drawn = Math.floor(sources * random() ** TAIL);
      const rank = drawn < BUSIEST ? Math.floor(random() * Math.min(BUSIEST, sources)) : drawn;
      const stay = stayOf(rank);
      const generation = stay === Number.POSITIVE_INFINITY ? 0 : Math.floor(time / stay + chance(seed, rank, 2));
      const before = known.get(rank);
      if (before?.generation === generation) return before.source;
      const source = make(mix(seed, rank, generation, 3));
      known.set(rank, { generation, source });
      return source;
    },
    oneOff: (random) => make(Math.floor(random() * 2 ** 32)),
  };
}
